// Tables of virtual functions: counted by hand in the fixture, by nm and readelf, and by the compiler that makes
// relative ones; damaged files.
#include "core/binaries/vtables.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "support/temp_dir.h"

namespace tare::core {
namespace {

using test::TempDir;

VtableCensus counted(const std::string& path, const std::string& names_from = "") {
  auto binary = ElfFile::open(path);
  EXPECT_TRUE(binary) << binary.error().message;
  std::unique_ptr<ElfFile> names;
  if (!names_from.empty()) names = std::move(*ElfFile::open(names_from));
  auto census = count_vtables(**binary, names.get());
  EXPECT_TRUE(census) << census.error().message;
  return *census;
}

std::string read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void run(const std::string& command) { ASSERT_EQ(std::system(command.c_str()), 0) << command; }

std::uint64_t number_from(const std::string& command, const TempDir& folder) {
  const std::string out = folder / "number";
  run(command + " > " + out);
  return std::strtoull(read_whole(out).c_str(), nullptr, 10);
}

// Slots: distance to the object's start, type information, functions (two for a destructor).
constexpr std::uint64_t kAnimalSlots = 2 + 4;
constexpr std::uint64_t kDogSlots = 2 + 4;
constexpr std::uint64_t kRobotSlots = 2 + 4;
constexpr std::uint64_t kRoboDogSlots = (2 + 4 + 2) + (2 + 4);  // with Robot's, whose functions are thunks
constexpr std::uint64_t kSlots = kAnimalSlots + kDogSlots + kRobotSlots + kRoboDogSlots;
constexpr std::uint64_t kDistances = 5;
constexpr std::uint64_t kClasses = 4;
constexpr std::uint64_t kSavedRelocations = kSlots - kDistances - kClasses;  // each names its type information still

TEST(Vtables, AreCountedWithTheirRelocations) {
  const VtableCensus census = counted(VTABLES_PLAIN);
  EXPECT_EQ(census.names, VtableNames::Symbols);
  EXPECT_EQ(census.tables.count, 4u);
  EXPECT_EQ(census.tables.bytes, 8 * kSlots);
  EXPECT_EQ(census.tables.relocations, kSlots - kDistances);
  EXPECT_EQ(census.table_tables.count, 0u);
  // each with a table's address and a name; a base's address for Dog; flags, a count and two bases for RoboDog
  EXPECT_EQ(census.type_infos.count, 4u);
  EXPECT_EQ(census.type_infos.bytes, 16u + 24 + 16 + 16 + 8 + 2 * 16);
  EXPECT_EQ(census.type_infos.relocations, 2u + 3 + 2 + 4);
  EXPECT_EQ(census.type_names.bytes, sizeof "6Animal" + sizeof "3Dog" + sizeof "5Robot" + sizeof "7RoboDog");
  EXPECT_EQ(census.relative_tables, 0u);
  EXPECT_EQ(census.saving.table_bytes, 4 * kSlots - 8 * kClasses);
  EXPECT_EQ(census.saving.relocations, kSavedRelocations);
  EXPECT_EQ(census.saving.relocation_bytes, 24 * census.saving.relocations);
}

TEST(Vtables, SaveLittleOfPackedRelocations) {
  const VtableCensus census = counted(VTABLES_PACKED);
  EXPECT_EQ(census.tables.relocations, kSlots - kDistances);
  EXPECT_GT(census.sections.relr_bytes, 0u);
  EXPECT_EQ(census.saving.relocations, kSavedRelocations);
  EXPECT_LE(census.saving.relocation_bytes, 8u);  // all of them are an address and some bits
}

TEST(Vtables, AgreeWithReadelf) {
  const TempDir folder;
  for (const std::string path : {VTABLES_PLAIN, VTABLES_PACKED, VTABLES_TEST}) {
    SCOPED_TRACE(path);
    const VtableCensus census = counted(path);
    EXPECT_EQ(census.relocations,
              number_from("readelf -rW " + path + " | sed '/rela.plt/,/^$/d' | grep -cE '^[0-9a-f]{16}'", folder));
    EXPECT_EQ(
        census.tables.bytes,
        number_from("nm -S --defined-only " + path +
                        " | awk '$4 ~ /^_ZT[VC]/ && $3 !~ /[bB]/ && !seen[$1]++ "
                        "{ print \"0x\" $2 }' | python3 -c 'import sys; print(sum(int(l, 16) for l in sys.stdin))'",
                    folder));
  }
}

TEST(Vtables, OfStrippedFilesTakeNamesFromTheDebugFile) {
  const TempDir folder;
  const std::string debug = folder / "debug";
  const std::string stripped = folder / "stripped";
  run("objcopy --only-keep-debug " + std::string(VTABLES_PLAIN) + " " + debug);
  run("strip -o " + stripped + " " + VTABLES_PLAIN);
  const VtableCensus whole = counted(stripped, debug);
  EXPECT_EQ(whole.names, VtableNames::Symbols);
  EXPECT_EQ(whole.tables.bytes, 8 * kSlots);
  EXPECT_EQ(whole.tables.relocations, kSlots - kDistances);
  const VtableCensus alone = counted(stripped);
  EXPECT_EQ(alone.names, VtableNames::Exports);
  EXPECT_EQ(alone.tables.count, 0u);
  EXPECT_EQ(alone.relocations, whole.relocations);
}

// Predicted tables are compared with those that a compiler makes of the same source.
TEST(Vtables, ShrinkAsForetold) {
  if (std::system("clang++-19 --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no clang++-19";
  const TempDir folder;
  const std::string build = "clang++-19 -std=c++20 -O1 -fPIC -shared -fvisibility=hidden " VTABLES_SOURCE " -o ";
  run(build + (folder / "absolute.so"));
  run(build + (folder / "relative.so") + " -fexperimental-relative-c++-abi-vtables");
  const VtableCensus before = counted(folder / "absolute.so");
  const VtableCensus after = counted(folder / "relative.so");
  EXPECT_EQ(after.tables.count, before.tables.count);
  EXPECT_EQ(after.relative_tables, after.tables.count);
  EXPECT_EQ(after.tables.bytes, before.tables.bytes - before.saving.table_bytes - 8 * kClasses);
  EXPECT_EQ(after.tables.relocations, 0u);
  EXPECT_EQ(after.saving.table_bytes, 0u);
  EXPECT_GE(before.relocations, after.relocations + before.saving.relocations);
  EXPECT_LE(before.relocations, after.relocations + before.saving.relocations + 2);
}

TEST(Vtables, ThatNameFunctionsBySymbolKeepTheirRelocations) {
  const TempDir folder;
  const std::string library = folder / "exporting.so";
  run("g++ -std=c++20 -O1 -fPIC -shared -fvisibility=default " VTABLES_SOURCE " -o " + library);
  const VtableCensus census = counted(library);
  EXPECT_EQ(census.tables.relocations, kSlots - kDistances);
  EXPECT_EQ(census.saving.relocations, 0u);
  EXPECT_EQ(census.saving.table_bytes, 4 * kSlots - 8 * kClasses);
}

TEST(Vtables, OfObjectFilesAreRefused) {
  const TempDir folder;
  const std::string object = folder / "fixture.o";
  run("g++ -c " VTABLES_SOURCE " -o " + object);
  const auto binary = ElfFile::open(object);
  ASSERT_TRUE(binary);
  const auto census = count_vtables(**binary, nullptr);
  ASSERT_FALSE(census);
  EXPECT_EQ(census.error().kind, ErrorKind::Usage);
  EXPECT_NE(census.error().message.find(object), std::string::npos);
}

TEST(Vtables, OfDamagedFilesAreNoCrash) {
  for (const char* path : {VTABLES_PLAIN, VTABLES_PACKED}) {
    const std::string whole = read_whole(path);
    std::mt19937 random(11);
    for (int round = 0; round < 400; ++round) {
      std::string bad = whole;
      if (round % 4 == 0) bad.resize(whole.size() * static_cast<std::size_t>(round) / 400);
      for (int flips = 1 << (random() % 8); flips > 0 && !bad.empty(); --flips) {
        const std::size_t at =
            random() % 2 == 0 ? random() % bad.size() : bad.size() - 1 - random() % bad.size() % 4096;
        bad[at] = static_cast<char>(bad[at] ^ (1 << (random() % 8)));
      }
      const auto file = ElfFile::from_bytes(std::move(bad), "damaged");
      if (!file) continue;
      const auto census = count_vtables(**file, nullptr);
      if (census) {
        EXPECT_LE(census->saving.relocations, census->relocations);
      }
    }
  }
}

TEST(RelrSize, CountsAddressesAndBitmaps) {
  const auto bytes_of = [](std::uint64_t slots, std::uint64_t step) {
    RelrSize size;
    for (std::uint64_t i = 0; i < slots; ++i) size.add(0x1000 + step * i);
    return size.bytes();
  };
  EXPECT_EQ(bytes_of(0, 8), 0u);
  EXPECT_EQ(bytes_of(1, 8), 8u);
  EXPECT_EQ(bytes_of(2, 8), 16u);
  EXPECT_EQ(bytes_of(1 + 63, 8), 16u);
  EXPECT_EQ(bytes_of(1 + 64, 8), 24u);
  EXPECT_EQ(bytes_of(1 + 2 * 63, 8), 24u);
  EXPECT_EQ(bytes_of(3, 4096), 24u);  // too far apart for bits
  EXPECT_EQ(bytes_of(2, 12), 16u);    // no multiple of 8: an address again
}

}  // namespace
}  // namespace tare::core
