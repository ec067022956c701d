// Containers of traces: whole, without an end, cut and damaged at every byte, and hostile ones.
// SPDX-License-Identifier: Apache-2.0
#include "trace/file/container.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "support/temp_dir.h"
#include "support/trace_samples.h"
#include "trace/file/container_records.h"
#include "trace/file/expected_events.h"
#include "trace/file/record.h"
#include "trace/open/finish_leftover.h"
#include "trace/open/open_trace.h"

namespace tare::test {
namespace {

using trace::ByteWriter;

enum class Directory : std::uint8_t { Yes, No };

std::vector<std::uint8_t> example_trace(const TempDir& dir) {
  write_example_trace(dir / "example.tare");
  return read_file(dir / "example.tare");
}

void write_container(const TempDir& dir, const std::string& path, Directory directory) {
  write_rich_trace(dir / "rich.tare");
  auto writer = trace::ContainerWriter::create(path, "/no/such/folder");
  ASSERT_TRUE(writer);
  EXPECT_EQ(*writer->append("7", example_trace(dir)), "7");
  EXPECT_EQ(*writer->append("8.e0", read_file(dir / "rich.tare")), "8.e0");
  EXPECT_EQ(*writer->append("7", example_trace(dir)), "7.2");
  writer->set_parent("8.e0", "t.tare.short:9");
  if (directory == Directory::Yes) {
    ASSERT_TRUE(writer->finish());
  }
}

std::size_t events_of(const std::string& path) {
  auto opened = trace::open_trace(path);
  if (!opened) return 0;
  CollectingSink sink;
  EXPECT_TRUE(opened->replay_into(sink));
  return sink.all.size();
}

std::vector<std::string> names_of(const trace::Container& container) {
  std::vector<std::string> names;
  for (const trace::ContainerMember& member : container.members) names.push_back(member.name);
  return names;
}

TEST(Container, EveryMemberIsATrace) {
  for (const Directory directory : {Directory::Yes, Directory::No}) {
    TempDir dir;
    const std::string path = dir / "t.tare.short";
    write_container(dir, path, directory);
    const auto container = trace::read_container(path);
    ASSERT_TRUE(container);
    EXPECT_FALSE(container->damage);
    EXPECT_EQ(container->finished, directory == Directory::Yes);
    EXPECT_EQ(container->spool_folder, "/no/such/folder");
    EXPECT_EQ(names_of(*container), (std::vector<std::string>{"7", "8.e0", "7.2"}));
    EXPECT_EQ(events_of(path + ":7"), events_of(dir / "example.tare"));
    EXPECT_EQ(events_of(path + ":7.2"), events_of(dir / "example.tare"));
    EXPECT_EQ(events_of(path + ":8.e0"), events_of(dir / "rich.tare"));
    const auto rich = trace::open_trace(path + ":8.e0");
    ASSERT_TRUE(rich);
    EXPECT_TRUE(rich->complete());
    ASSERT_TRUE(rich->info().fork);
    EXPECT_EQ(rich->info().fork->parent_trace, directory == Directory::Yes ? "t.tare.short:9" : "parent.tare");
  }
}

// More than the writer keeps whole: the others are entries of the directory by then.
TEST(Container, ManyMembersAreAllFound) {
  constexpr std::size_t kMembers = 10'000;
  TempDir dir;
  const std::string path = dir / "t.tare.short";
  auto writer = trace::ContainerWriter::create(path, "/no/such/folder");
  ASSERT_TRUE(writer);
  const std::vector<std::uint8_t> trace = example_trace(dir);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kMembers; ++i) {
    names.push_back(*writer->append(std::to_string(i / 2), trace));  // each process number comes twice
  }
  writer->set_parent(names.back(), "t.tare.short:last");
  writer->set_parent(names.front(), "t.tare.short:first");  // too late
  EXPECT_EQ(writer->members(), kMembers);
  ASSERT_TRUE(writer->finish());
  const auto container = trace::read_container(path);
  ASSERT_TRUE(container);
  EXPECT_TRUE(container->finished);
  EXPECT_EQ(names_of(*container), names);
  EXPECT_EQ(names[1], "0.2");
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), kMembers);
  EXPECT_EQ(container->members.back().parent_trace, "t.tare.short:last");
  EXPECT_EQ(container->members.front().parent_trace, "");
  for (const std::size_t member : {std::size_t{0}, kMembers / 2, kMembers - 1}) {
    EXPECT_GT(events_of(path + ":" + names[member]), 0u);
  }
}

TEST(Container, BeyondItsLimitThereIsNoDirectory) {
  constexpr std::size_t kMembers = 300'000;  // of 60 bytes in a directory
  TempDir dir;
  const std::string path = dir / "t.tare.short";
  auto writer = trace::ContainerWriter::create(path, "/no/such/folder");
  ASSERT_TRUE(writer);
  const std::string long_name(50, 'n');
  const std::vector<std::uint8_t> trace(1, 0);
  std::set<std::string> names;
  for (std::size_t i = 0; i < kMembers; ++i) names.insert(*writer->append(long_name + std::to_string(i), trace));
  EXPECT_EQ(names.size(), kMembers);
  const std::uint64_t bytes = writer->file_bytes();
  ASSERT_TRUE(writer->finish());
  EXPECT_EQ(writer->file_bytes(), bytes);
  const auto container = trace::read_container(path);
  ASSERT_TRUE(container);
  EXPECT_FALSE(container->finished);
  EXPECT_FALSE(container->damage);
  EXPECT_EQ(container->members.size(), kMembers);
}

TEST(Container, ErrorsNameWhatThereIs) {
  TempDir dir;
  const std::string path = dir / "t.tare.short";
  write_container(dir, path, Directory::Yes);
  const auto whole = trace::open_trace(path);
  ASSERT_FALSE(whole);
  EXPECT_EQ(whole.error().kind, ErrorKind::NotATrace);
  EXPECT_NE(whole.error().message.find(path + ":PID"), std::string::npos) << whole.error().message;
  const auto missing = trace::open_trace(path + ":99");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("no trace of process 99"), std::string::npos) << missing.error().message;
  EXPECT_FALSE(trace::open_trace(dir / "example.tare:7"));
  EXPECT_FALSE(trace::read_container(dir / "example.tare"));
  EXPECT_EQ(*trace::finish_leftover(path + ":7"), trace::Leftover::None);
}

TEST(Container, AFileOfThatNameComesFirst) {
  TempDir dir;
  const std::string path = dir / "t.tare.short";
  write_container(dir, path, Directory::Yes);
  write_rich_trace(path + ":7");
  EXPECT_EQ(events_of(path + ":7"), events_of(dir / "rich.tare"));
}

TEST(Container, CutAnywhereItKeepsTheMembersBefore) {
  TempDir dir;
  const std::string path = dir / "t.tare.short";
  write_container(dir, path, Directory::Yes);
  const auto container = trace::read_container(path);
  ASSERT_TRUE(container);
  const std::vector<std::uint8_t> bytes = read_file(path);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    write_file(path, {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)});
    const auto cut = trace::read_container(path);
    if (!cut) continue;
    std::size_t whole = 0;
    for (const trace::ContainerMember& member : container->members) whole += member.offset + member.bytes <= length;
    EXPECT_EQ(cut->members.size(), whole) << length;
    EXPECT_FALSE(cut->finished);
    EXPECT_FALSE(cut->damage);
  }
}

TEST(Container, DamageAnywhereIsOneErrorAtMost) {
  TempDir dir;
  const std::string path = dir / "t.tare.short";
  write_container(dir, path, Directory::Yes);
  const std::vector<std::uint8_t> bytes = read_file(path);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::vector<std::uint8_t> damaged = bytes;
    damaged[at] ^= 0x81;
    write_file(path, damaged);
    const auto container = trace::read_container(path);
    if (!container) continue;
    for (const trace::ContainerMember& member : container->members) {
      EXPECT_LE(member.offset, damaged.size());
      EXPECT_LE(member.bytes, damaged.size() - member.offset);
    }
    const auto opened = trace::open_trace(path + ":8.e0");
    if (!opened) {
      EXPECT_EQ(opened.error().message.find('\n'), std::string::npos);
    }
  }
}

void put_record(ByteWriter& out, trace::ContainerRecord type, const ByteWriter& payload) {
  const trace::RecordHeader header{static_cast<std::uint16_t>(type), 0,
                                   static_cast<std::uint32_t>(payload.bytes().size()), 0};
  out.fixed32(header.type);
  out.fixed32(header.length);
  out.fixed64(record_checksum(header, payload.bytes()));
  out.append(payload.bytes());
}

ByteWriter beginning() {
  ByteWriter out;
  for (const char c : trace::kContainerMagic) out.byte(static_cast<std::uint8_t>(c));
  out.fixed32(trace::kContainerVersion);
  out.fixed32(trace::kFileHeaderBytes);
  return out;
}

// A member whose trace is said to go on behind the file, or to be called what no process is.
TEST(Container, WhatAMemberSaysOfItselfIsChecked) {
  TempDir dir;
  for (const auto& [name, bytes] : {std::pair<std::string, std::uint64_t>{"7", ~std::uint64_t{0}},
                                    {"7", 1},
                                    {"../7", 0},
                                    {"\x1b[2J", 0},
                                    {"", 0},
                                    {std::string(65, '7'), 0}}) {
    ByteWriter payload;
    payload.text(name);
    payload.varint(bytes);
    ByteWriter file = beginning();
    put_record(file, trace::ContainerRecord::Member, payload);
    write_file(dir / "x.short", file.bytes());
    const auto container = trace::read_container(dir / "x.short");
    ASSERT_TRUE(container);
    EXPECT_TRUE(container->members.empty()) << name;
    EXPECT_EQ(static_cast<bool>(container->damage), bytes == 0) << name;
  }
}

TEST(Container, ADirectoryThatDoesNotFitIsNoDirectory) {
  TempDir dir;
  for (const std::uint64_t gap : {std::uint64_t{0}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    ByteWriter payload;
    payload.varint(gap == 0 ? std::uint64_t{1} << 60 : 1);
    payload.text("7");
    payload.varint(gap);
    payload.varint(~std::uint64_t{0});
    payload.text("");
    ByteWriter file = beginning();
    const std::uint64_t at = file.bytes().size();
    put_record(file, trace::ContainerRecord::Directory, payload);
    file.fixed64(at);
    for (const char c : trace::kContainerEndMagic) file.byte(static_cast<std::uint8_t>(c));
    write_file(dir / "x.short", file.bytes());
    const auto container = trace::read_container(dir / "x.short");
    ASSERT_TRUE(container);
    EXPECT_FALSE(container->finished);
    EXPECT_TRUE(container->members.empty());
  }
}

}  // namespace
}  // namespace tare::test
