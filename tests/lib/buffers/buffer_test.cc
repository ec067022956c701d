// Buffers against std::vector, at the edges of size, and without memory.
#include "tare/buffer.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "lib/support/failing_malloc.h"

namespace tare {
namespace {

using testing::FailingMalloc;
using testing::malloc_counts;
using testing::MallocCounts;

static_assert(sizeof(Buffer<int>) == 16 && sizeof(Buffer<int, GrowByClass, std::size_t>) == 24);
static_assert(!std::is_copy_constructible_v<Buffer<int>> && std::is_nothrow_move_constructible_v<Buffer<int>>);

std::size_t calls_now() {
  (void)good_size(1);
  return malloc_counts().mallocs + malloc_counts().reallocs;
}

// A string that knows its place: moved wrongly, it would hold another's characters or free them twice.
struct Located {
  explicit Located(std::string words) : text(std::move(words)), self(this) { ++alive; }
  Located() : Located("") {}
  Located(const Located& other) : Located(other.text) {}
  Located(Located&& other) noexcept : text(std::move(other.text)), self(this) { ++alive; }
  Located& operator=(const Located&) = default;
  ~Located() {
    EXPECT_EQ(self, this);
    --alive;
  }
  bool operator==(const Located& other) const { return self == this && text == other.text; }

  std::string text;
  Located* self;
  static inline int alive = 0;
};

template <typename T>
T element(std::minstd_rand& random) {
  if constexpr (std::is_same_v<T, Located>) {
    return Located(std::string(random() % 40, static_cast<char>('a' + random() % 26)));
  } else {
    return static_cast<T>(random());
  }
}

template <typename T, typename Growth>
void compare_with_vector(unsigned seed) {
  std::minstd_rand random(seed);
  for (int round = 0; round < 300; ++round) {
    Buffer<T, Growth> buffer;
    std::vector<T> expected;
    for (int step = 0; step < 60; ++step) {
      switch (random() % 10) {
        case 0:
          if (expected.empty()) break;
          buffer.pop_back();
          expected.pop_back();
          break;
        case 1: {
          const std::size_t count = random() % (expected.size() + 10);
          EXPECT_TRUE(buffer.resize(count));
          expected.resize(count);
          break;
        }
        case 2: {
          std::vector<T> more;
          for (auto i = random() % 20; i > 0; --i) more.push_back(element<T>(random));
          EXPECT_TRUE(buffer.append_all(more));
          expected.insert(expected.end(), more.begin(), more.end());
          break;
        }
        case 3: {  // a part of its own
          const std::size_t from = random() % (expected.size() + 1);
          EXPECT_TRUE(buffer.append_all(buffer.span().subspan(from)));
          const std::vector<T> part(expected.begin() + static_cast<std::ptrdiff_t>(from), expected.end());
          expected.insert(expected.end(), part.begin(), part.end());
          if (expected.size() > 500) buffer.clear(), expected.clear();
          break;
        }
        case 4:
          if (expected.empty()) break;
          EXPECT_TRUE(buffer.append(buffer[0]));  // which may move while it's read
          expected.push_back(T(expected[0]));
          break;
        case 5:
          EXPECT_TRUE(random() % 2 == 0 ? buffer.shrink_to_fit() : buffer.reserve_exactly(random() % 100));
          break;
        case 6: {
          Buffer<T, Growth> moved(std::move(buffer));
          EXPECT_TRUE(buffer.empty());  // NOLINT(bugprone-use-after-move): documented
          buffer = std::move(moved);
          break;
        }
        case 7:
          buffer = Buffer<T, Growth>::adopt(std::move(buffer).release());
          break;
        default:
          const T value = element<T>(random);
          EXPECT_TRUE(buffer.append(value));
          expected.push_back(value);
      }
      ASSERT_TRUE(std::equal(buffer.begin(), buffer.end(), expected.begin(), expected.end()));
      ASSERT_LE(buffer.size(), buffer.capacity());
    }
  }
}

TEST(Buffer, IsWhatAVectorIs) {
  compare_with_vector<int, GrowByClass>(1);
  compare_with_vector<char, GrowByDoubling>(2);
  compare_with_vector<std::uint64_t, GrowByClass>(3);
  compare_with_vector<Located, GrowByClass>(4);
  compare_with_vector<Located, GrowByDoubling>(5);
  EXPECT_EQ(Located::alive, 0);
}

TEST(Buffer, HoldsMoveOnlyElements) {
  Buffer<std::unique_ptr<int>> buffer;
  for (int i = 0; i < 1000; ++i) ASSERT_NE(buffer.emplace_back(new int(i)), nullptr);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(*buffer[static_cast<std::size_t>(i)], i);
  EXPECT_TRUE(buffer.append(std::make_unique<int>(7)));
  EXPECT_EQ(*buffer.back(), 7);
}

TEST(Buffer, FillsItsSizeClass) {
  Buffer<char> buffer;
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_TRUE(buffer.append('x'));
    ASSERT_EQ(good_size(buffer.capacity()), buffer.capacity());
  }
}

TEST(Buffer, KnownCountsCostOneCall) {
  const std::size_t before = calls_now();
  Buffer<int> buffer;
  ASSERT_TRUE(buffer.reserve_exactly(1000));
  EXPECT_EQ(buffer.capacity(), 1000U);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(buffer.append(i));
  EXPECT_TRUE(buffer.shrink_to_fit());
  EXPECT_EQ(calls_now() - before, 1U);
}

TEST(Buffer, ShrinksOnlyWhereAClassIsSaved) {
  Buffer<char> buffer;
  ASSERT_TRUE(buffer.resize(10'000));
  ASSERT_TRUE(buffer.resize(good_size(3000) - 1));
  std::size_t before = calls_now();
  EXPECT_TRUE(buffer.shrink_to_fit());
  EXPECT_EQ(calls_now() - before, 1U);
  EXPECT_LE(buffer.capacity(), good_size(3000));
  before = calls_now();
  EXPECT_TRUE(buffer.shrink_to_fit());
  buffer.clear();
  EXPECT_TRUE(buffer.shrink_to_fit());
  EXPECT_EQ(calls_now(), before);
  EXPECT_EQ(buffer.data(), nullptr);
}

TEST(Buffer, RelocatableElementsGrowByRealloc) {
  Buffer<int> trivial;
  Buffer<Located> located;
  static_cast<void>(good_size(1));  // its first call asks for blocks
  const MallocCounts begin = malloc_counts();
  for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(trivial.append(i));
  EXPECT_EQ(malloc_counts().mallocs, begin.mallocs);
  EXPECT_GT(malloc_counts().reallocs, begin.reallocs);
  EXPECT_LE(malloc_counts().reallocs - begin.reallocs, 24U) << "1.5 times from 4 to 10,000 elements";
}

template <typename T>
void fails_unchanged(Buffer<T>& buffer) {
  const T* data = buffer.data();
  const std::size_t size = buffer.size();
  const std::size_t capacity = buffer.capacity();
  const std::vector<T> more(capacity + 1);
  {
    const FailingMalloc none;
    EXPECT_FALSE(buffer.append_all(more));
    EXPECT_FALSE(buffer.reserve(capacity - size + 1));
    EXPECT_FALSE(buffer.reserve_exactly(capacity + 1));
    EXPECT_FALSE(buffer.resize(capacity + 1));
    if (size == capacity) {
      EXPECT_EQ(buffer.emplace_back(), nullptr);
    }
  }
  EXPECT_EQ(buffer.data(), data);
  EXPECT_EQ(buffer.size(), size);
  EXPECT_EQ(buffer.capacity(), capacity);
}

TEST(Buffer, WithoutMemoryNothingChanges) {
  Buffer<int> empty;
  fails_unchanged(empty);
  Buffer<int> full;
  ASSERT_TRUE(full.resize(1000));
  ASSERT_TRUE(full.resize(full.capacity()));
  fails_unchanged(full);
  Buffer<Located> located;
  ASSERT_TRUE(located.resize(10));
  ASSERT_TRUE(located.resize(located.capacity()));
  fails_unchanged(located);
}

TEST(Buffer, WithoutMemoryForMoreTakesWhatIsNeeded) {
  Buffer<int> buffer;
  ASSERT_TRUE(buffer.reserve_exactly(100));
  ASSERT_TRUE(buffer.resize(100));
  const FailingMalloc once(1);
  EXPECT_TRUE(buffer.append(1));
  EXPECT_EQ(buffer.capacity(), 101U);
}

TEST(Buffer, LargestRequestsFailInPeace) {
  Buffer<char, GrowByDoubling, std::size_t> large;
  EXPECT_FALSE(large.reserve(kLargestRequest));
  EXPECT_FALSE(large.reserve(SIZE_MAX));
  EXPECT_FALSE(large.reserve_exactly(SIZE_MAX));
  EXPECT_TRUE(large.append('x'));
  EXPECT_FALSE(large.reserve(SIZE_MAX));
  EXPECT_EQ(large.size(), 1U);
}

TEST(Buffer, CountsDoNotOverflow) {
  Buffer<int> buffer;
  EXPECT_FALSE(buffer.reserve(Buffer<int>::kMostElements + 1));
  EXPECT_FALSE(buffer.reserve(SIZE_MAX));
  EXPECT_FALSE(buffer.reserve_exactly(SIZE_MAX / sizeof(int)));
  EXPECT_FALSE(buffer.resize(SIZE_MAX));
  EXPECT_EQ(buffer.append_uninitialized(SIZE_MAX), nullptr);
  EXPECT_TRUE(buffer.append(1));
  EXPECT_FALSE(buffer.reserve(SIZE_MAX));
  EXPECT_EQ(buffer.append_uninitialized(SIZE_MAX - 1), nullptr);
  EXPECT_EQ(buffer.size(), 1U);
  Buffer<char, GrowByClass, std::uint8_t> tiny;  // 255 elements: the limit of 32 bits, where a test can reach it
  for (int i = 0; i < 255; ++i) ASSERT_TRUE(tiny.append('x')) << i;
  EXPECT_FALSE(tiny.append('x'));
  EXPECT_FALSE(tiny.reserve(1));
  EXPECT_EQ(tiny.size(), 255U);
}

TEST(Buffer, TextWithoutItsZero) {
  Buffer<char> buffer;
  EXPECT_TRUE(buffer.append_text("abc"));
  EXPECT_TRUE(buffer.append_text("def"));
  EXPECT_EQ(std::string_view(buffer.data(), buffer.size()), "abcdef");
}

TEST(Buffer, TellsItsBlockToReporters) {
  Buffer<int> buffer;
  const auto usable = [](const void* block) { return malloc_usable_size(const_cast<void*>(block)); };
  EXPECT_EQ(buffer.size_of_excluding_this(usable), 0U);
  ASSERT_TRUE(buffer.resize(100));
  EXPECT_GE(buffer.size_of_excluding_this(usable), 400U);
}

}  // namespace
}  // namespace tare
