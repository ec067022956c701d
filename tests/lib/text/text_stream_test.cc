// Text streams against std::string, at the edges of their memory, and without memory.
#include "tare/text_stream.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "lib/support/failing_malloc.h"
#include "tare/good_size.h"

namespace tare {
namespace {

using testing::FailingMalloc;
using testing::malloc_counts;

static_assert(sizeof(TextStream) == 64 && TextStream::kInlineCapacity == 48);
static_assert(!std::is_copy_constructible_v<TextStream> && std::is_nothrow_move_constructible_v<TextStream>);

std::size_t calls_now() {
  (void)good_size(1);  // which asks the allocator some blocks the first time
  return malloc_counts().mallocs + malloc_counts().reallocs;
}

TEST(TextStream, FortyEightCharactersCostNoMalloc) {
  const std::size_t before = calls_now();
  TextStream out;
  for (int i = 0; i < 48; ++i) out << 'x';
  EXPECT_EQ(calls_now(), before);
  EXPECT_FALSE(out.is_on_heap());
  out << 'y';
  EXPECT_EQ(calls_now(), before + 1);
  EXPECT_TRUE(out.is_on_heap());
  EXPECT_EQ(out.view(), std::string(48, 'x') + 'y');
  EXPECT_TRUE(out.ok());
}

TEST(TextStream, DoublesSoThatLongTextsCostFewCalls) {
  const std::size_t before = calls_now();
  TextStream out;
  for (int i = 0; i < 1'000'000; ++i) out << 'x';
  EXPECT_LE(calls_now() - before, 16U);
  EXPECT_EQ(out.size(), 1'000'000U);
  EXPECT_LE(out.heap_bytes(), 2'100'000U);
}

// One random act on a stream, and the same on a string.
void act(std::minstd_rand& random, TextStream& out, std::string& expected) {
  switch (random() % 12) {
    case 0: {
      const auto character = static_cast<char>(random());  // zeros too
      out << character;
      expected += character;
      return;
    }
    case 1: {
      const std::string piece(random() % (random() % 20 == 0 ? 300 : 30), static_cast<char>('a' + random() % 26));
      EXPECT_TRUE(out.append(piece));
      expected += piece;
      return;
    }
    case 2: {
      const auto number = static_cast<std::int64_t>(random()) << random() % 33;
      out << -number << static_cast<std::uint64_t>(number);
      expected += std::to_string(-number) + std::to_string(number);
      return;
    }
    case 3: {
      const std::size_t count = random() % 70;
      EXPECT_TRUE(out.append(count, '-'));
      expected.append(count, '-');
      return;
    }
    case 4: {  // a part of its own text
      const std::size_t from = random() % (expected.size() + 1);
      const std::size_t count = random() % 100;
      EXPECT_TRUE(out.append(out.view().substr(from, count)));
      expected += expected.substr(from, count);
      return;
    }
    case 5: {
      const std::size_t size = random() % (expected.size() + 1);
      out.shorten(size);
      expected.resize(size);
      return;
    }
    case 6: {
      TextStream moved(std::move(out));
      EXPECT_TRUE(out.empty());  // NOLINT(bugprone-use-after-move): documented
      out << "gone with the assignment";
      out = std::move(moved);
      return;
    }
    case 7: {
      const auto number = static_cast<int>(random());
      EXPECT_TRUE(out.print("%s %d", "printed", number));
      expected += "printed " + std::to_string(number);
      return;
    }
    case 8: {
      char* room = out.prepare(5);
      ASSERT_NE(room, nullptr);
      std::memcpy(room, "abcde", 5);
      out.commit(3);
      expected += "abc";
      return;
    }
    case 9:
      if (random() % 4 != 0) return;
      out.reset(random() % 2 == 0 ? HeapPart::Keep : HeapPart::Drop);
      expected.clear();
      return;
    case 10: {
      const char* text = out.c_str();
      ASSERT_EQ(text[out.size()], '\0');
      ASSERT_EQ(text, out.data());
      return;
    }
    default: {
      if (random() % 4 != 0) return;
      const Bytes taken = out.take();
      EXPECT_EQ(taken.text(), expected);
      EXPECT_EQ(taken.data()[taken.size()], '\0');
      EXPECT_TRUE(out.empty());
      expected.clear();
      return;
    }
  }
}

TEST(TextStream, IsWhatAStringIs) {
  std::minstd_rand random(7);
  for (int round = 0; round < 3000; ++round) {
    TextStream out;
    std::string expected;
    for (int step = 0; step < 30; ++step) {
      act(random, out, expected);
      ASSERT_EQ(out.view(), expected) << "round " << round << ", step " << step;
    }
    EXPECT_TRUE(out.ok());
  }
}

TEST(TextStream, EveryLengthAtOnceAndInTwoPieces) {
  const std::string text(300, 't');
  for (std::size_t first = 0; first < 150; ++first) {
    for (std::size_t second = 0; second < 150; ++second) {
      TextStream out;
      out << std::string_view(text).substr(0, first) << std::string_view(text).substr(0, second);
      ASSERT_EQ(out.view(), std::string_view(text).substr(0, first + second));
      ASSERT_EQ(std::string(out.c_str()).size(), first + second);
    }
  }
}

TEST(TextStream, ResetKeepsOrDropsTheHeapPart) {
  TextStream out;
  out.append(1000, 'x');
  const std::size_t before = calls_now();
  out.reset(HeapPart::Keep);
  EXPECT_TRUE(out.is_on_heap());
  out.append(1000, 'y');
  EXPECT_EQ(calls_now(), before);
  EXPECT_EQ(out.view(), std::string(1000, 'y'));
  out.reset();
  EXPECT_FALSE(out.is_on_heap());
  EXPECT_EQ(out.heap_bytes(), 0U);
  EXPECT_TRUE(out.empty());
}

TEST(TextStream, TakesTheHeapBlockAsItIs) {
  TextStream out;
  out.append(100, 'x');
  const char* text = out.data();
  const std::size_t before = calls_now();
  const Bytes taken = out.take();
  EXPECT_EQ(taken.data(), text);
  EXPECT_EQ(calls_now(), before);
  EXPECT_EQ(taken.text(), std::string(100, 'x'));
  EXPECT_FALSE(taken.is_shared());
  ASSERT_NE(taken.shared_header(), nullptr);
  EXPECT_EQ(taken.shared_header()->text(), taken.text());
  out << "again";
  EXPECT_EQ(out.view(), "again");
}

TEST(TextStream, FrozenTextStays) {
  for (std::size_t size : {0, 10, 47, 48, 49, 500}) {
    TextStream out;
    out.append(size, 'x');
    out.freeze();
    const std::string_view view = out.view();
    EXPECT_TRUE(out.is_frozen());
    EXPECT_TRUE(out.ok());
    EXPECT_TRUE(out.append(""));
    EXPECT_EQ(out.c_str(), view.data());
    EXPECT_FALSE(out.append('y'));
    EXPECT_FALSE(out.append(3, 'y'));
    EXPECT_FALSE(out.append_number(17));
    EXPECT_FALSE(out.print("%d", 3));
    EXPECT_FALSE(out.reserve(1));
    out.shorten(0);
    EXPECT_EQ(out.loss(), TextLoss::WrittenWhenFrozen);
    TextStream moved(std::move(out));
    EXPECT_TRUE(moved.is_frozen());
    EXPECT_EQ(moved.view(), std::string(size, 'x'));
    EXPECT_EQ(moved.take().text(), std::string(size, 'x'));
    EXPECT_FALSE(moved.is_frozen());
    moved << "open";
    EXPECT_EQ(moved.view(), "open");
    EXPECT_TRUE(moved.ok());
  }
}

TEST(TextStream, WithoutMemoryKeepsAPrefix) {
  for (std::size_t size : {0, 40, 47, 48}) {
    TextStream out;
    out.append(size, 'x');
    {
      const FailingMalloc none;
      EXPECT_FALSE(out.append(std::string_view("a piece of forty-nine characters, which fits nowhere")));
      EXPECT_EQ(out.loss(), TextLoss::OutOfMemory);
      EXPECT_FALSE(out.append("y")) << "no holes";
      EXPECT_FALSE(out.append(2, 'y'));
      EXPECT_FALSE(out.print("%d", 1));
      EXPECT_EQ(out.prepare(1), nullptr);
    }
    EXPECT_FALSE(out.append("y"));
    const std::size_t kept = size == 48 ? 47 : size;  // c_str() needs the last one
    EXPECT_EQ(out.view(), std::string(kept, 'x'));
    EXPECT_EQ(std::string(out.c_str()), out.view());
    out.reset();
    EXPECT_TRUE(out.append(100, 'z'));
    EXPECT_TRUE(out.ok());
  }
}

TEST(TextStream, WithoutMemoryForTwiceTakesWhatIsNeeded) {
  TextStream out;
  out.append(48, 'x');
  const FailingMalloc once(1);
  EXPECT_TRUE(out.append('y'));
  EXPECT_EQ(out.view(), std::string(48, 'x') + "y");
  EXPECT_EQ(out.heap_bytes(), sizeof(SharedHeader) + 49 + 1);
}

TEST(TextStream, WithoutMemoryKeepsWhatIsOnTheHeap) {
  TextStream out;
  out.append(1000, 'x');
  const std::string expected(1000, 'x');
  {
    const FailingMalloc none;
    EXPECT_FALSE(out.append(5000, 'y'));
  }
  EXPECT_EQ(out.view(), expected);
  EXPECT_EQ(out.loss(), TextLoss::OutOfMemory);
  TextStream full;
  full.append(48, 'x');
  const FailingMalloc none;
  EXPECT_EQ(std::string(full.c_str()), std::string(47, 'x'));
  EXPECT_EQ(full.loss(), TextLoss::OutOfMemory);
  TextStream some;
  some << "short";
  EXPECT_TRUE(some.take().is_null());
  EXPECT_EQ(some.view(), "short");
}

TEST(TextStream, RefusesWhatIsTooLarge) {
  TextStream out;
  out << "text";
  EXPECT_FALSE(out.append(std::numeric_limits<std::size_t>::max(), 'x'));
  EXPECT_EQ(out.loss(), TextLoss::TooLarge);
  EXPECT_EQ(out.view(), "text");
  out.reset();
  EXPECT_FALSE(out.reserve(std::numeric_limits<std::size_t>::max()));
  EXPECT_FALSE(out.reserve(TextWriter::kLargestSize + 1));
  EXPECT_TRUE(out.ok()) << "asking isn't losing";
}

TEST(TextStream, OtherInsides) {
  BasicTextStream<16> small;
  BasicTextStream<112> large;
  static_assert(sizeof(small) == 32 && sizeof(large) == 128);
  const std::size_t before = calls_now();
  for (int i = 0; i < 16; ++i) small << 'x';
  for (int i = 0; i < 112; ++i) large << 'x';
  EXPECT_EQ(calls_now(), before);
  TextWriter& any = small;
  any << "and more";
  EXPECT_EQ(small.view(), std::string(16, 'x') + "and more");
}

TEST(TextStream, CountsLengthsOnDemand) {
  using Counts = TextLengthsOf<struct ThisTest>;
  using Stream = BasicTextStream<48, Counts>;
  static_assert(sizeof(Stream) == sizeof(TextStream));
  for (std::size_t size : {0, 31, 32, 47, 48, 63, 64, 1000}) {
    Stream out;
    out.append(size, 'x');
    if (size == 31) out.reset();
    if (size == 32) (void)out.take();
  }
  const TextLengthCounts counts = Counts::so_far();
  EXPECT_EQ(counts.below_32, 2U + 2U);  // and the two that went on as empty ones
  EXPECT_EQ(counts.below_48, 2U);
  EXPECT_EQ(counts.below_64, 2U);
  EXPECT_EQ(counts.longer, 2U);
  EXPECT_STREQ(Counts::table(), "<32: 4 (40%), <48: 2 (20%), <64: 2 (20%), >=64: 2 (20%)\n");
  Counts::forget();
  EXPECT_EQ(Counts::so_far().total(), 0U);
}

TEST(TextStream, TellsItsBlockToReporters) {
  TextStream out;
  const auto one_hundred = [](const void*) { return std::size_t{100}; };
  EXPECT_EQ(out.size_of_excluding_this(one_hundred), 0U);
  out.append(49, 'x');
  EXPECT_EQ(out.size_of_excluding_this(one_hundred), 100U);
}

}  // namespace
}  // namespace tare
