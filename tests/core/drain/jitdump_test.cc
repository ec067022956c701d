// Names from jitdump files: records as the specification has them, records that contradict themselves, files of others.
#include "core/drain/generated_code/jitdump.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "support/temp_dir.h"
#include "trace/model/ids.h"

namespace tare::core {
namespace {

constexpr std::uint64_t kNoModuleBits = std::uint64_t{0xffff} << 48;
constexpr std::uint32_t kDumpPid = 4711;

struct DumpBytes {
  std::string bytes;

  template <typename T>
  void put(T value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  explicit DumpBytes(std::uint32_t magic = 0x4a695444, std::uint32_t version = 1, std::uint32_t machine = 62,
                     std::uint32_t header_bytes = 40) {
    for (const std::uint32_t word : {magic, version, header_bytes, machine, 0u, kDumpPid}) put(word);
    put(std::uint64_t{5});
    put(std::uint64_t{0});
    bytes.resize(std::max<std::size_t>(bytes.size(), std::min<std::uint32_t>(header_bytes, 4096)));
  }
  void put_record(std::uint32_t type, std::string_view payload, std::int32_t longer = 0) {
    put(type);
    put(static_cast<std::uint32_t>(16 + payload.size() + static_cast<std::size_t>(longer)));
    put(std::uint64_t{7});
    bytes += payload;
  }
  void load(std::uint64_t address, std::uint64_t code_bytes, std::string_view name, std::int32_t longer = 0) {
    DumpBytes payload;
    payload.bytes.clear();
    payload.put(kDumpPid);
    payload.put(kDumpPid);
    for (const std::uint64_t word : {address, address, code_bytes, std::uint64_t{1}}) payload.put(word);
    payload.bytes += name;
    payload.bytes += '\0';
    payload.bytes.append(static_cast<std::size_t>(std::min<std::uint64_t>(code_bytes, 64)), '\xcc');
    put_record(0, payload.bytes, longer);
  }
};

// The function that names an address 0x1000 + 8 by such a file; empty: none.
std::string name_by(const DumpBytes& dump, std::uint32_t pid = kDumpPid) {
  trace::Dictionary dictionary;
  dictionary.rows = {kNoModuleBits | 0x1008};
  GeneratedNames names(dictionary);
  const ByteSource source = [&](std::uint64_t offset, std::span<std::uint8_t> room) {
    const std::size_t got = offset < dump.bytes.size() ? std::min(room.size(), dump.bytes.size() - offset) : 0;
    if (got != 0) std::memcpy(room.data(), dump.bytes.data() + offset, got);
    return got;
  };
  if (!add_jitdump(source, pid, names)) return "(refused)";
  names.add_to(dictionary);
  return dictionary.given_frames.empty() ? "" : dictionary.given_frames.front().function;
}

TEST(Jitdump, TheLastRecordNamesAnAddress) {
  DumpBytes dump;
  dump.load(0x1000, 16, "JS:*old a.js:1:1");
  dump.put_record(2, "debug information that isn't read");
  dump.load(0x1000, 16, "JS:*parse a.js:2:1");
  dump.put_record(4, "unwind information");
  dump.load(0x2000, 16, "elsewhere");
  EXPECT_EQ(name_by(dump), "parse");
  EXPECT_EQ(name_by(DumpBytes(0x4a695444, 1, 62, 64)), "") << "a longer header";
}

TEST(Jitdump, OtherFilesAreRefused) {
  EXPECT_EQ(name_by(DumpBytes(0x4454694a)), "(refused)") << "of the other byte order";
  EXPECT_EQ(name_by(DumpBytes(0x4a695444, 2)), "(refused)");
  EXPECT_EQ(name_by(DumpBytes(0x4a695444, 1, 183)), "(refused)") << "code of another machine";
  EXPECT_EQ(name_by(DumpBytes(0x4a695444, 1, 62, 8)), "(refused)");
  EXPECT_EQ(name_by(DumpBytes(), kDumpPid + 1), "(refused)") << "of an earlier process in this folder";
  DumpBytes cut;
  cut.bytes.resize(39);
  EXPECT_EQ(name_by(cut), "(refused)");
}

TEST(Jitdump, DamageEndsTheReading) {
  DumpBytes dump;
  dump.load(0x1000, 16, "good");
  dump.put(0u);
  dump.put(3u);  // shorter than its own header
  dump.put(std::uint64_t{0});
  dump.load(0x1000, 16, "behind the damage");
  EXPECT_EQ(name_by(dump), "good");
  DumpBytes cut;
  cut.load(0x1000, 16, "good");
  cut.load(0x1000, 16, "cut");
  cut.bytes.resize(cut.bytes.size() - 16 - 4 - 40);
  EXPECT_EQ(name_by(cut), "good");
  DumpBytes sizes;
  sizes.load(0x1000, 0, "no code");
  sizes.load(0x2000, 16, "");
  sizes.load(0xffff'ffff'ffff'ff00, ~std::uint64_t{0}, "around the end");
  EXPECT_EQ(name_by(sizes), "");
  DumpBytes huge;
  huge.load(0x1000, 16, "long" + std::string(100'000, 'x'));
  EXPECT_EQ(name_by(huge).substr(0, 4), "long");
}

TEST(Jitdump, FilesOfTheProcessAlone) {
  test::TempDir dir;
  const std::string path = dir / "jit-4711.dump";
  DumpBytes dump;
  dump.load(0x1000, 16, "parse");
  std::ofstream(path, std::ios::binary) << dump.bytes;
  trace::Dictionary dictionary;
  dictionary.rows = {kNoModuleBits | 0x1008};
  GeneratedNames names(dictionary);
  const std::uint32_t owner = ::getuid();
  EXPECT_EQ(read_jitdump(dir / "none", kDumpPid, owner, 0, names), PerfMapUse::Absent);
  EXPECT_EQ(read_jitdump(path, kDumpPid + 1, owner, 0, names), PerfMapUse::Foreign);
  EXPECT_EQ(read_jitdump(path, kDumpPid, owner, ~std::uint64_t{0} >> 1, names), PerfMapUse::Stale);
  std::filesystem::create_symlink(path, dir / "link");
  EXPECT_EQ(read_jitdump(dir / "link", kDumpPid, owner, 0, names), PerfMapUse::Foreign);
  EXPECT_EQ(names.add_to(dictionary), 0u);
  EXPECT_EQ(read_jitdump(path, kDumpPid, owner, 0, names), PerfMapUse::Used);
  EXPECT_EQ(names.add_to(dictionary), 1u);
}

TEST(Jitdump, PathsAreInTheWorkingDirectoryAndAtHome) {
  test::TempDir dir;
  const std::string home = dir / "home";
  EXPECT_EQ(jitdump_paths(7, "/srv", home), std::vector<std::string>{"/srv/jit-7.dump"});
  std::filesystem::create_directories(home + "/.debug/jit/java-jit-20261126.XXa");
  EXPECT_EQ(jitdump_paths(7, "/srv", home),
            (std::vector<std::string>{"/srv/jit-7.dump", home + "/.debug/jit/java-jit-20261126.XXa/jit-7.dump"}));
  EXPECT_EQ(jitdump_paths(7, "/srv", "").size(), 1u);
}

}  // namespace
}  // namespace tare::core
