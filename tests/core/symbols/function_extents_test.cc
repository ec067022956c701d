// Extents of functions from the table for unwinding, compared with symbols.
#include "core/symbols/function_extents.h"

#include <gtest/gtest.h>

#include "core/symbols/elf_symbols.h"

namespace tare::core {
namespace {

TEST(FunctionExtents, ThoseOfThisProgramHoldItsFunctions) {
  auto file = ElfFile::open("/proc/self/exe");
  ASSERT_TRUE(file);
  const FunctionExtents extents(**file);
  ElfSymbols symbols;
  symbols.add(**file);
  const auto text = (*file)->section_address(".text");
  ASSERT_TRUE(text);
  std::vector<std::uint64_t> addresses;
  for (std::uint64_t at = *text; at < *text + (*file)->section(".text").size(); at += 64) addresses.push_back(at);
  const std::vector<ElfSymbol> found = symbols.find(addresses);
  std::size_t named = 0, equal = 0;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (found[i].name.empty()) continue;
    const auto extent = extents.find(addresses[i]);
    ++named;
    equal += extent && extent->begin == found[i].value && extent->bytes >= found[i].size_bytes ? 1 : 0;
  }
  EXPECT_GT(named, 100u);
  EXPECT_GT(equal, named * 95 / 100);  // a part that was moved elsewhere is a function of its own
}

TEST(FunctionExtents, NothingOutsideOfTheTable) {
  auto file = ElfFile::open("/proc/self/exe");
  ASSERT_TRUE(file);
  const FunctionExtents extents(**file);
  EXPECT_EQ(extents.find(0), std::nullopt);
  EXPECT_EQ(extents.find(~std::uint64_t{0}), std::nullopt);
}

}  // namespace
}  // namespace tare::core
