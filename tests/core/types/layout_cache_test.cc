// The cache returns the layouts that reading returned, as long as the files are the same.
#include "core/types/layout_cache.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "support/temp_dir.h"

namespace tare::core {
namespace {

namespace fs = std::filesystem;

fs::path cached_fixture(const std::string& name) { return fs::path(FIXTURE_DIR) / ("layout_fixture_" + name); }

Layouts load(const fs::path& path, const fs::path& cache, std::uint64_t* looked = nullptr) {
  std::uint64_t units = 0;
  auto loaded = load_layouts(path, {}, cache, [&](std::uint64_t, std::uint64_t) { ++units; });
  if (looked != nullptr) *looked = units;
  EXPECT_TRUE(loaded) << loaded.error().message;
  return loaded ? *std::move(loaded) : Layouts{};
}

std::string cache_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  if (fs::exists(folder)) files.assign(fs::directory_iterator(folder), {});
  return files;
}

TEST(LayoutCache, GivesWhatWasRead) {
  const test::TempDir folder;
  const Layouts read = load(cached_fixture("dwarf5"), folder / "cache");
  std::uint64_t looked = 0;
  const Layouts again = load(cached_fixture("dwarf5"), folder / "cache", &looked);
  EXPECT_EQ(looked, 0u);  // no unit
  EXPECT_GT(read.types.size(), 20u);
  EXPECT_EQ(encode_layouts("", read), encode_layouts("", again));
  EXPECT_EQ(read.dwarf_path, again.dwarf_path);
  const Layouts uncached = load(cached_fixture("dwarf5"), {});
  EXPECT_EQ(encode_layouts("", read), encode_layouts("", uncached));
}

TEST(LayoutCache, OfAnotherFileIsNone) {
  const test::TempDir folder;
  fs::copy_file(cached_fixture("dwarf5"), folder / "program");
  load(folder / "program", folder / "cache");
  ASSERT_EQ(files_in(folder / "cache").size(), 1u);
  fs::last_write_time(folder / "program", fs::file_time_type::clock::now() + std::chrono::hours(1));
  std::uint64_t looked = 0;
  load(folder / "program", folder / "cache", &looked);
  EXPECT_GT(looked, 0u);
}

TEST(LayoutCache, DamageIsNoticed) {
  const test::TempDir folder;
  const Layouts read = load(cached_fixture("dwarf5"), folder / "cache");
  const fs::path file = files_in(folder / "cache").at(0);
  const std::string good = cache_bytes(file);
  const std::string sealed = encode_layouts("files", read);
  EXPECT_TRUE(decode_layouts("files", sealed));
  EXPECT_FALSE(decode_layouts("other files", sealed));
  for (std::size_t at = 0; at < sealed.size(); at += 97) {
    std::string bad = sealed;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    EXPECT_FALSE(decode_layouts("files", bad)) << at;
    EXPECT_FALSE(decode_layouts("files", sealed.substr(0, at))) << at;
  }
  std::ofstream(file, std::ios::binary) << good.substr(0, good.size() / 2);
  const Layouts again = load(cached_fixture("dwarf5"), folder / "cache");
  EXPECT_EQ(encode_layouts("", read), encode_layouts("", again));
  EXPECT_EQ(cache_bytes(file), good);
}

TEST(LayoutCache, TypesInOtherFilesAreReadEachTime) {
  const test::TempDir folder;
  EXPECT_GT(load(cached_fixture("split"), folder / "cache").types.size(), 20u);
  EXPECT_TRUE(files_in(folder / "cache").empty());
}

TEST(LayoutCache, WithoutAFolderNothingIsKept) {
  EXPECT_GT(load(cached_fixture("dwarf5"), "/proc/nowhere").types.size(), 20u);
}

}  // namespace
}  // namespace tare::core
