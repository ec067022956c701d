// Pointers in code: variables, results of functions, inlined functions; tested on the fixture's own functions.
#include "core/allocated_types/pointed_types.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>

#include "core/symbols/elf_file.h"

namespace tare::core {
namespace {

constexpr std::uint64_t kNodeBytes = 8 + 5 * 4 + 4;

struct Handles {
  std::unique_ptr<ElfFile> file;
  Dwarf* dwarf = nullptr;
  ~Handles() {
    if (dwarf != nullptr) dwarf_end(dwarf);
  }
};

std::vector<std::vector<PointedType>> at(const char* path, const std::vector<std::uint64_t>& addresses) {
  Handles opened;
  opened.file = std::move(*ElfFile::open(path));
  opened.dwarf = dwarf_begin_elf(opened.file->elf(), DWARF_C_READ, nullptr);
  return pointed_types(opened.dwarf, addresses);
}

// In the file's own terms: the fixture's file is linked at 0.
std::uint64_t address_of(const char* path, const char* function) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void* const found = library == nullptr ? nullptr : dlsym(library, function);
  Dl_info info{};
  if (found == nullptr || dladdr(found, &info) == 0) return 0;
  return static_cast<std::uint64_t>(static_cast<char*>(found) - static_cast<char*>(info.dli_fbase));
}

class PointedTypes : public ::testing::TestWithParam<const char*> {
 protected:
  std::vector<PointedType> inside(const char* function) const {
    return at(GetParam(), {address_of(GetParam(), function)}).front();
  }
};

TEST_P(PointedTypes, AreThoseOfVariables) {
  const std::vector<PointedType> found = inside("by_variable");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].name, "Node");
  EXPECT_EQ(found[0].size_bytes, kNodeBytes);
  EXPECT_EQ(found[0].line, 5u);
  EXPECT_EQ(found[0].functions_out, 0u);
}

TEST_P(PointedTypes, AreWhatFunctionsReturn) {
  const std::vector<PointedType> found = inside("by_return");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].name, "Leaf");
  EXPECT_EQ(found[0].size_bytes, 100u);
}

TEST_P(PointedTypes, HaveTheNameOfTheirTypedef) {
  const std::vector<PointedType> found = inside("by_typedef");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].name, "Alias");
  EXPECT_EQ(found[0].size_bytes, 24u);
}

TEST_P(PointedTypes, TellInlinedFunctionsFromTheirCallers) {
  const std::uint64_t begin = address_of(GetParam(), "by_inlined");
  std::vector<std::uint64_t> addresses;
  for (std::uint64_t i = 0; i < 16; ++i) addresses.push_back(begin + i);
  bool is_within = false;
  for (const std::vector<PointedType>& found : at(GetParam(), addresses)) {
    const bool is_inlined = !found.empty() && found.front().name == "Leaf";
    if (!is_inlined) continue;
    is_within = true;
    EXPECT_EQ(found.front().functions_out, 0u);
    EXPECT_EQ(found.back().name, "Node");
    EXPECT_EQ(found.back().functions_out, 1u);
  }
  EXPECT_TRUE(is_within);
}

TEST_P(PointedTypes, AreNoneWhereNothingTells) {
  EXPECT_TRUE(inside("of_nothing").empty());
  EXPECT_TRUE(at(GetParam(), {1}).front().empty());
}

TEST_P(PointedTypes, OfDamagedFilesAreNoCrash) {
  std::ifstream file(GetParam(), std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::uint64_t> addresses;
  for (std::uint64_t address = 0x1000; address < 0x1400; address += 7) addresses.push_back(address);
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    std::string bad = whole;
    for (int flips = 1 << (random() % 8); flips > 0; --flips)
      bad[random() % bad.size()] ^= static_cast<char>(1 << (random() % 8));
    auto damaged = ElfFile::from_bytes(std::move(bad), "damaged");
    if (!damaged) continue;
    Handles opened;
    opened.file = std::move(*damaged);
    opened.dwarf = dwarf_begin_elf(opened.file->elf(), DWARF_C_READ, nullptr);
    if (opened.dwarf == nullptr) continue;
    EXPECT_EQ(pointed_types(opened.dwarf, addresses).size(), addresses.size());
  }
}

INSTANTIATE_TEST_SUITE_P(Dwarf, PointedTypes, ::testing::Values(POINTED_DWARF4, POINTED_DWARF5),
                         [](const auto& version) { return version.index == 0 ? "4" : "5"; });

}  // namespace
}  // namespace tare::core
