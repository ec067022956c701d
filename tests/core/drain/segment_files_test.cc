// Rotation deletes files that it closed, and no others.
// SPDX-License-Identifier: Apache-2.0
#include "core/drain/segments/segment_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/temp_dir.h"

namespace tare::core {
namespace {

namespace fs = std::filesystem;

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

std::string text_of(const std::string& path) {
  std::string text;
  std::getline(std::ifstream(path), text);
  return text;
}

// Segments 1 to `count` of t.tare, each with its number in it.
void close_many(SegmentFiles& files, const std::string& path, std::uint32_t count) {
  write(path, "1");
  for (std::uint32_t number = 1; number <= count; ++number) {
    write(path + ".new", std::to_string(number + 1));
    ASSERT_TRUE(files.close(path, number, path + ".new"));
  }
}

TEST(SegmentFiles, KeepsTheNewest) {
  const test::TempDir dir;
  SegmentFiles files(3);
  close_many(files, dir / "t.tare", 5);
  EXPECT_EQ(text_of(dir / "t.tare"), "6");
  EXPECT_EQ(text_of(dir / "t.tare.s5"), "5");
  EXPECT_EQ(text_of(dir / "t.tare.s4"), "4");
  EXPECT_FALSE(fs::exists(dir / "t.tare.s3"));
  EXPECT_FALSE(fs::exists(dir / "t.tare.new"));
  EXPECT_EQ(files.count(), 2u);
}

TEST(SegmentFiles, OnlyTheLatest) {
  const test::TempDir dir;
  SegmentFiles files(1);
  close_many(files, dir / "t.tare", 3);
  EXPECT_EQ(text_of(dir / "t.tare"), "4");
  EXPECT_EQ(std::distance(fs::directory_iterator(fs::path(dir / "")), {}), 1);
}

TEST(SegmentFiles, WhatTookTheNameOfASegmentStays) {
  const test::TempDir dir;
  SegmentFiles files(2);
  close_many(files, dir / "t.tare", 1);
  fs::rename(dir / "t.tare.s1", dir / "saved");
  write(dir / "t.tare.s1", "somebody's");
  write(dir / "t.tare.new", "3");
  ASSERT_TRUE(files.close(dir / "t.tare", 2, dir / "t.tare.new"));
  EXPECT_EQ(text_of(dir / "t.tare.s1"), "somebody's");
  EXPECT_EQ(text_of(dir / "saved"), "1");
}

TEST(SegmentFiles, AFullDiskCostsTheOldestIfTheyRotate) {
  const test::TempDir dir;
  SegmentFiles all(0);
  close_many(all, dir / "a.tare", 2);
  EXPECT_FALSE(all.give_up_oldest());
  EXPECT_TRUE(fs::exists(dir / "a.tare.s1"));
  SegmentFiles rotated(9);
  close_many(rotated, dir / "b.tare", 2);
  EXPECT_TRUE(rotated.give_up_oldest());
  EXPECT_FALSE(fs::exists(dir / "b.tare.s1"));
  EXPECT_TRUE(rotated.give_up_oldest());
  EXPECT_FALSE(rotated.give_up_oldest());
  EXPECT_EQ(text_of(dir / "b.tare"), "3");
}

TEST(SegmentFiles, FollowARename) {
  const test::TempDir dir;
  SegmentFiles files(0);
  close_many(files, dir / "t.tare", 2);
  files.rename_all(dir / "t.tare.7.e0");
  EXPECT_EQ(text_of(dir / "t.tare.7.e0.s1"), "1");
  EXPECT_EQ(text_of(dir / "t.tare.7.e0.s2"), "2");
}

}  // namespace
}  // namespace tare::core
