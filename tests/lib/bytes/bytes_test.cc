// Bytes: where they lie, who holds them, who frees them.
#include "tare/bytes.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "lib/support/failing_malloc.h"
#include "tare/buffer.h"
#include "tare/good_size.h"
#include "tare/size_classes.h"
#include "tare/text_stream.h"

namespace tare {
namespace {

using testing::FailingMalloc;
using testing::malloc_counts;

static_assert(sizeof(Bytes) == 24);

std::size_t usable(const void* block) { return malloc_usable_size(const_cast<void*>(block)); }

std::size_t mallocs_now() {
  (void)good_size(1);
  return malloc_counts().mallocs;
}

TEST(Bytes, CopiesAreAlignedAsMallocsAre) {
  for (std::size_t size = 1; size < 5000; ++size) {
    const std::string text(size, 'x');
    const Bytes bytes = Bytes::copy(text.data(), size);
    ASSERT_EQ(bytes.text(), text);
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(bytes.data()) % (size < 16 ? 8 : 16), 0U);
    ASSERT_FALSE(bytes.is_shared());
    const Bytes characters = Bytes::copy_of_text(text);
    ASSERT_EQ(characters, bytes);
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(characters.data()) % 8, 0U);
    ASSERT_EQ(characters.data()[size], '\0');
    ASSERT_EQ(characters.shared_header()->text(), text);
    if (size < 16) {
      ASSERT_EQ(bytes.shared_header()->text(), text);
    }
  }
}

TEST(Bytes, SmallOnesAreOneBlock) {
  std::size_t before = mallocs_now();
  const Bytes small = Bytes::copy("0123456789", 10);
  const Bytes text = Bytes::copy_of_text("0123456789");
  EXPECT_EQ(mallocs_now() - before, 2U);
  before = mallocs_now();
  const Bytes copy = small;  // NOLINT(performance-unnecessary-copy-initialization): that is what's tested
  const Bytes part = small.slice(2, 3);
  const Bytes fixed = Bytes::of_static("literal");
  const Bytes nothing = Bytes::copy("", 0);
  EXPECT_EQ(mallocs_now(), before);
  EXPECT_EQ(part.text(), "234");
  EXPECT_TRUE(small.is_shared());
  EXPECT_FALSE(nothing.is_null());
}

// The usable sizes of a payload under the allocator in use, in one block and in two.
TEST(Bytes, LieWhereTheyCostLeast) {
  for (std::size_t size = 16; size < 70'000; size += size < 2000 ? 1 : 501) {
    UniqueBytes unique = UniqueBytes::allocate(size);
    ASSERT_GE(unique.capacity(), size);
    const Bytes bytes = std::move(unique).share(size);
    const std::size_t taken = bytes.size_of_excluding_this(usable);
    ASSERT_LE(taken, good_size(size + 16) + 16) << size;
    ASSERT_LE(taken, good_size(size) + good_size(40) + 48) << size;
  }
}

TEST(Bytes, CapacityIsAllOfTheClass) {
  for (std::size_t size = 1; size < 70'000; size += size < 300 ? 1 : 501) {
    UniqueBytes unique = UniqueBytes::allocate(size);
    std::memset(unique.data(), 'x', unique.capacity());
    const std::size_t capacity = unique.capacity();
    const Bytes bytes = std::move(unique).share(capacity);
    ASSERT_EQ(bytes.text(), std::string(capacity, 'x'));
  }
}

TEST(Bytes, SlicesHoldTheWhole) {
  Bytes part;
  {
    const Bytes whole = Bytes::copy_of_text("a text of some length");
    part = whole.slice(2, 4);
    EXPECT_EQ(part.text(), "text");
    EXPECT_EQ(part.shared_header(), nullptr) << "another size than the header's";
    EXPECT_EQ(whole.slice(0).shared_header(), whole.shared_header());
    EXPECT_EQ(whole.slice(17, 100).text(), "ngth");
    EXPECT_TRUE(whole.slice(100).empty());
    EXPECT_FALSE(whole.slice(100).is_null());
    EXPECT_TRUE(Bytes().slice(0).is_null());
  }
  EXPECT_EQ(part.text(), "text");
  EXPECT_FALSE(part.is_shared());
  EXPECT_EQ(part.slice(1).slice(1, 1).text(), "x");
}

struct Foreign {
  int released = 0;
  const void* data = nullptr;
  std::size_t size = 0;
};

TEST(Bytes, ForeignMemoryIsReleasedOnce) {
  static const char kText[] = "foreign";
  Foreign foreign;
  const auto release = [](const void* data, std::size_t size, void* context) {
    auto* seen = static_cast<Foreign*>(context);
    ++seen->released;
    seen->data = data;
    seen->size = size;
  };
  {
    Bytes bytes = Bytes::adopt(kText, 7, release, &foreign);
    EXPECT_FALSE(bytes.is_shared());
    EXPECT_EQ(bytes.data_if_unique(), nullptr) << "it may be read-only";
    const Bytes part = bytes.slice(1);
    EXPECT_TRUE(bytes.is_shared());
    bytes = Bytes();
    EXPECT_EQ(foreign.released, 0);
    EXPECT_EQ(part.text(), "oreign");
  }
  EXPECT_EQ(foreign.released, 1);
  EXPECT_EQ(foreign.data, kText);
  EXPECT_EQ(foreign.size, 7U);
}

TEST(Bytes, BuffersAndStreamsBecomeBytesWithoutACopy) {
  Buffer<char> buffer;
  ASSERT_TRUE(buffer.append_text("a buffer's characters"));
  const char* data = buffer.data();
  const auto released = std::move(buffer).release();
  const Bytes bytes = Bytes::adopt_malloced(released.data, released.size);
  EXPECT_EQ(bytes.data(), data);
  EXPECT_EQ(bytes.text(), "a buffer's characters");
  EXPECT_EQ(bytes.size_of_excluding_this([](const void*) { return std::size_t{1}; }), 2U);
  TextStream stream;
  stream << "short";
  EXPECT_EQ(stream.take().text(), "short");
}

TEST(Bytes, WritableWhileUnique) {
  Bytes bytes = Bytes::copy("abc", 3);
  ASSERT_NE(bytes.data_if_unique(), nullptr);
  bytes.data_if_unique()[0] = 'x';
  EXPECT_EQ(bytes.text(), "xbc");
  const Bytes other = bytes;
  EXPECT_EQ(bytes.data_if_unique(), nullptr);
  EXPECT_EQ(Bytes::of_static("literal").data_if_unique(), nullptr);
  EXPECT_EQ(Bytes().data_if_unique(), nullptr);
}

TEST(Bytes, ReportsItsBlocksOnce) {
  const Bytes text = Bytes::copy_of_text(std::string(100, 'x'));
  EXPECT_GE(text.size_of_excluding_this(usable), 109U);
  EXPECT_EQ(text.size_of_excluding_this_if_unshared(usable), text.size_of_excluding_this(usable));
  const Bytes other = text.slice(1);
  EXPECT_EQ(text.size_of_excluding_this_if_unshared(usable), 0U);
  EXPECT_EQ(other.size_of_excluding_this(usable), text.size_of_excluding_this(usable));
  EXPECT_EQ(Bytes::of_static("x").size_of_excluding_this(usable), 0U);
  EXPECT_EQ(Bytes().size_of_excluding_this(usable), 0U);
}

TEST(Bytes, WithoutMemoryAreNull) {
  const std::string text(1000, 'x');
  {
    const FailingMalloc none;
    EXPECT_TRUE(Bytes::copy(text.data(), 10).is_null());
    EXPECT_TRUE(Bytes::copy(text.data(), 1000).is_null());
    EXPECT_TRUE(Bytes::copy_of_text(text).is_null());
    EXPECT_TRUE(UniqueBytes::allocate(1).is_null());
    EXPECT_TRUE(Bytes::adopt(text.data(), 10, [](const void*, std::size_t, void*) { FAIL(); }, nullptr).is_null());
    EXPECT_FALSE(Bytes::copy_of_text("").is_null());
  }
  EXPECT_TRUE(UniqueBytes::allocate(SIZE_MAX).is_null());
  EXPECT_TRUE(UniqueBytes::allocate(kLargestRequest).is_null());
  const Bytes null;
  EXPECT_EQ(null, Bytes::of_static(""));
  EXPECT_EQ(null.size(), 0U);
}

TEST(Bytes, MovesAndAssignments) {
  Bytes a = Bytes::copy_of_text("a");
  Bytes b = std::move(a);
  EXPECT_TRUE(a.is_null());  // NOLINT(bugprone-use-after-move,clang-analyzer-cplusplus.Move): documented
  const Bytes& same = b;
  b = same;
  EXPECT_EQ(b.text(), "a");
  b = Bytes::copy_of_text("b");
  EXPECT_LT(Bytes::of_static("a"), b);
  UniqueBytes first = UniqueBytes::allocate(10);
  UniqueBytes second = UniqueBytes::allocate(1000);
  first = std::move(second);
  EXPECT_GE(first.capacity(), 1000U);
}

// Random holders of random parts, against strings.
TEST(Bytes, AreWhatStringsAre) {
  std::minstd_rand random(5);
  std::vector<Bytes> held(20);
  std::vector<std::string> expected(20);
  for (int step = 0; step < 20'000; ++step) {
    const std::size_t to = random() % held.size();
    const std::size_t from = random() % held.size();
    switch (random() % 5) {
      case 0: {
        const std::string text(random() % (random() % 10 == 0 ? 3000 : 40), static_cast<char>('a' + random() % 26));
        held[to] = random() % 2 == 0 ? Bytes::copy(text.data(), text.size()) : Bytes::copy_of_text(text);
        expected[to] = text;
        break;
      }
      case 1:
        held[to] = held[from];
        expected[to] = std::string(expected[from]);
        break;
      case 2: {
        const std::size_t offset = random() % (expected[from].size() + 1);
        const std::size_t count = random() % 50;
        held[to] = held[from].slice(offset, count);
        expected[to] = expected[from].substr(offset, count);
        break;
      }
      case 3:
        std::swap(held[to], held[from]), std::swap(expected[to], expected[from]);
        break;
      default: {
        char* block = static_cast<char*>(std::malloc(expected[from].size() + 1));
        std::memcpy(block, expected[from].data(), expected[from].size());
        held[to] = Bytes::adopt_malloced(block, expected[from].size());
        expected[to] = std::string(expected[from]);
      }
    }
    ASSERT_EQ(held[to].text(), expected[to]);
  }
}

}  // namespace
}  // namespace tare
