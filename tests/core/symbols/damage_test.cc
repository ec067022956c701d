// Cut and bit-flipped ELF files: any answer will do, a crash or a hang won't. The fuzz target looks deeper.
#include <gtest/gtest.h>

#include <random>

#include "core/symbols/dwarf_file.h"
#include "core/symbols/elf_file.h"
#include "core/symbols/elf_symbols.h"
#include "support.h"

namespace tare::core {
namespace {

using namespace testing;

void look_up(std::string bytes, const std::vector<std::uint64_t>& addresses) {
  auto file = ElfFile::from_bytes(std::move(bytes), "damaged");
  if (!file) return;
  ElfSymbols symbols;
  symbols.add(**file);
  symbols.find(addresses);
  symbols.find(addresses);
  auto dwarf = DwarfFile::open(**file, nullptr);
  if (!dwarf) return;
  for (const DwarfFile::Found& found : (*dwarf)->find(addresses)) {
    for (const DwarfFrame& frame : found.frames) found.unit->path(frame);
  }
}

class Damage : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    bytes_ = read_all(fixture(GetParam()));
    addresses_ = function_addresses(fixture(GetParam()), 40);
    std::sort(addresses_.begin(), addresses_.end());
    addresses_.erase(std::unique(addresses_.begin(), addresses_.end()), addresses_.end());
  }
  std::string bytes_;
  std::vector<std::uint64_t> addresses_;
};

TEST_P(Damage, Cut) {
  for (std::size_t size = 0; size < 200; ++size) look_up(bytes_.substr(0, size), addresses_);
  for (int i = 1; i < 100; ++i)
    look_up(bytes_.substr(0, bytes_.size() * static_cast<std::size_t>(i) / 100), addresses_);
}

TEST_P(Damage, FlippedBits) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::string bad = bytes_;
    const int flips = 1 << (random() % 8);
    for (int i = 0; i < flips; ++i) {
      // Half of them in the headers at both ends, where they hurt most.
      const std::size_t at = round % 2 == 0      ? random() % bad.size()
                             : random() % 2 == 0 ? random() % 1024
                                                 : bad.size() - 1 - random() % 4096;
      bad[at] = static_cast<char>(bad[at] ^ (1 << (random() % 8)));
    }
    look_up(std::move(bad), addresses_);
  }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, Damage, ::testing::Values("dwarf5", "dwarf4", "compressed"),
                         [](const auto& fixture_name) { return std::string(fixture_name.param); });

}  // namespace
}  // namespace tare::core
