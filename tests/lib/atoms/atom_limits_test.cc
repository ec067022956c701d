// The range under limits: each test runs in a child process that takes the limit upon itself.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "lib/support/in_child.h"
#include "lib/support/sanitized.h"
#include "tare/atom_table.h"

namespace tare {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kGiB = std::size_t{1} << 30;

// This program makes atoms in children only, each of which reserves a range of its own.
template <class Body>
int in_child(Body body) {
  return testing::in_child([&body] { return AtomTable::range().reserved_bytes != 0 ? 99 : body(); });
}

bool limit_addresses(std::size_t bytes) {
  const rlimit value{bytes, bytes};
  return setrlimit(RLIMIT_AS, &value) == 0;
}

std::size_t addresses_in_use() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  unsigned long pages = 0;
  const bool is_read = file != nullptr && std::fscanf(file, "%lu", &pages) == 1;
  if (file != nullptr) std::fclose(file);
  return is_read ? pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) : 0;
}

TEST(AtomLimits, TheRangeIs32GiB) {
  const int wrong = in_child([] {
    AtomTable table;
    if (!table.intern("x")) return 1;
    if (AtomTable::range().error != AtomError::None) return 3;
    return AtomTable::range().reserved_bytes == 32 * kGiB && AtomTable::range().wanted_bytes == 32 * kGiB ? 0 : 2;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(AtomLimits, ASmallerRangeServesAndSaysSo) {
  if (kSanitized) GTEST_SKIP() << "sanitizers reserve more addresses than the limit";
  const int wrong = in_child([] {
    if (!limit_addresses(kGiB)) return 1;
    AtomTable table;
    std::vector<Atom> atoms;
    for (int i = 0; i < 10'000; ++i) {
      atoms.push_back(table.intern(std::to_string(i)));
      if (atoms.back().text() != std::to_string(i)) return 2;
    }
    const AtomRangeUse range = AtomTable::range();
    if (range.wanted_bytes != 32 * kGiB || range.reserved_bytes > kGiB / 2) return 3;
    if (range.error != AtomError::SmallerRange || table.error() != AtomError::None) return 5;
    return range.reserved_bytes >= 128 * kMiB ? 0 : 4;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(AtomLimits, AFullRangeIsAnErrorThatGcCures) {
  if (kSanitized) GTEST_SKIP() << "sanitizers reserve more addresses than the limit";
  const int wrong = in_child([] {
    if (!limit_addresses(addresses_in_use() + 24 * kMiB)) return 1;
    AtomTable table({.unused_threshold = 0xFFFFFFFF});
    std::vector<Atom> atoms;
    atoms.reserve(100);
    const std::string letters(1000, 'f');
    int made = 0;
    while (table.intern(std::to_string(made) + letters)) {
      if (++made > 1'000'000) return 2;
    }
    if (table.error() != AtomError::RangeFull && table.error() != AtomError::NoMemory) return 3;
    if (table.gc() != static_cast<std::size_t>(made)) return 4;
    return table.intern("there is room again") ? 0 : 5;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(AtomLimits, NoRangeIsAnError) {
  if (kSanitized) GTEST_SKIP() << "sanitizers reserve more addresses than the limit";
  const int wrong = in_child([] {
    AtomTable table;
    if (!limit_addresses(addresses_in_use() + kMiB / 2)) return 1;
    if (table.intern("x")) return 2;
    if (table.error() != AtomError::NoRange) return 3;
    if (table.find("x") || table.intern("x")) return 4;
    if (AtomTable::range().reserved_bytes != 0 || AtomTable::range().error != AtomError::NoRange) return 5;
    return table.gc() == 0 ? 0 : 6;
  });
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tare
