// The five rows of the table that chose 48 (JDK-8260030), replayed: calls of malloc with 256 characters allocated at
// once, with 32 inside and with 48.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <string>

#include "lib/support/failing_malloc.h"
#include "tare/good_size.h"
#include "tare/text_stream.h"

namespace tare {
namespace {

struct Row {
  const char* name;
  std::array<int, 4> streams;  // of less than 32, 48, 64 characters, and of more
};

constexpr std::array<Row, 5> kRows{{{"java -version, debug", {1038, 111, 42, 4}},
                                    {"java -version, release", {449, 54, 26, 4}},
                                    {"metaspace test, debug", {151985, 83341, 46916, 6445}},
                                    {"metaspace test, release", {84123, 80332, 871, 3567}},
                                    {"with PrintOptoInlining, debug", {160311, 83661, 47821, 15345}}}};

// As stringStream was.
class Eager256 {
 public:
  Eager256() : text_(static_cast<char*>(std::malloc(256))) {}
  Eager256(const Eager256&) = delete;
  Eager256& operator=(const Eager256&) = delete;
  ~Eager256() { std::free(text_); }
  void append(std::size_t count, char character) {
    std::memset(text_, character, count);
    asm volatile("" : : "r"(text_) : "memory");  // else the compiler drops malloc, memset and free
  }

 private:
  char* text_;
};

template <typename Stream>
int mallocs(const Row& row) {
  constexpr std::array<std::size_t, 4> kShortest{0, 32, 48, 64};
  const std::size_t before = testing::malloc_counts().mallocs + testing::malloc_counts().reallocs;
  for (std::size_t length_class = 0; length_class < 4; ++length_class) {
    for (int i = 0; i < row.streams[length_class]; ++i) {
      const std::size_t width = length_class == 0 ? 32 : length_class == 3 ? 64 : 16;
      Stream stream;
      stream.append(kShortest[length_class] + static_cast<std::size_t>(i) % width, 'x');  // every length by turns
    }
  }
  return static_cast<int>(testing::malloc_counts().mallocs + testing::malloc_counts().reallocs - before);
}

TEST(SeedLengths, CostAsManyMallocsAsTheTableSays) {
  (void)good_size(1);
  for (const Row& row : kRows) {
    const auto& [below_32, below_48, below_64, longer] = row.streams;
    EXPECT_EQ(mallocs<Eager256>(row), below_32 + below_48 + below_64 + longer) << row.name;
    // Written at once, a text costs one call. 32 and 48 characters still fit: a sixteenth of the class above.
    const auto exactly_full = [](int streams) { return (streams + 15) / 16; };
    const int with_32 = mallocs<BasicTextStream<32>>(row);
    EXPECT_EQ(with_32, below_48 - exactly_full(below_48) + below_64 + longer) << row.name;
    const int with_48 = mallocs<TextStream>(row);
    EXPECT_EQ(with_48, below_64 - exactly_full(below_64) + longer) << row.name;
    EXPECT_LT(with_48, with_32) << row.name;
  }
}

}  // namespace
}  // namespace tare
