// tare/layout.h: types that hold what the macros promise, and how much is lost where they don't. What must not compile
// is in broken_types.cc.
#include "tare/layout.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace tare {
namespace {

using layout_details::lost_bytes;
using layout_details::slop_bytes;

struct Ordered {
  void* next;
  double weight;
  std::uint32_t id;
  bool is_leaf;
  std::uint8_t depth;
  std::uint16_t children;
};
TARE_ASSERT_PACKED(Ordered, &Ordered::next, &Ordered::weight, &Ordered::id, &Ordered::is_leaf, &Ordered::depth,
                   &Ordered::children);
TARE_ASSERT_SIZE_CLASS(Ordered);
TARE_ASSERT_SIZE_CLASS(Ordered, size_models::jemalloc, 8);
TARE_ASSERT_SIZE_CLASS(Ordered, size_models::tcmalloc, 8);

struct Disordered {  // 1 + 7 hole + 8 + 4 + 4 behind
  bool is_leaf;
  void* next;
  std::uint32_t id;
};
static_assert(sizeof(Disordered) == 24);

TEST(Layout, CountsHolesAndTailPadding) {
  EXPECT_EQ((lost_bytes<Disordered>(&Disordered::is_leaf, &Disordered::next, &Disordered::id)), 11u);
}

TEST(Layout, CountsWhatIsNotListedAsLost) {
  EXPECT_EQ((lost_bytes<Ordered>(&Ordered::next, &Ordered::weight, &Ordered::id)), 4u);
}

// The compiler judges: every byte of these tells something.
struct Bits {
  std::uint32_t low : 20;
  std::uint32_t high : 12;
};
TARE_ASSERT_PACKED(Bits);
enum class Color : std::uint8_t { Red };
struct Plain {
  int* data;
  std::uint16_t counts[3];
  Color color;
  char letter;
};
TARE_ASSERT_PACKED(Plain);

class Private {
 public:
  void set(std::uint32_t value) {
    TARE_ASSERT_PACKED(Private, &Private::text_, &Private::number_, &Private::flag_, &Private::shorts_);
    TARE_ASSERT_PACKED(Owned);
    number_ = value;
  }
  std::uint32_t get() const { return number_ + flag_ + shorts_[0] + static_cast<std::uint32_t>(text_.size()); }

 private:
  struct Owned {
    std::uint64_t one;
    std::uint64_t two;
  };
  std::string text_;
  std::uint32_t number_ = 0;
  std::uint16_t flag_ = 0;
  std::uint8_t shorts_[2] = {};
};

TEST(Layout, JudgesPrivateFieldsWhereTheyCanBeNamed) {
  Private object;
  object.set(7);
  EXPECT_EQ(object.get(), 7u);
}

struct Shape {
  virtual ~Shape() = default;
  std::uint64_t id = 0;
};
TARE_ASSERT_PACKED(Shape, &Shape::id);
struct Circle : Shape {
  double radius = 0;
};
TARE_ASSERT_PACKED(Circle, base_class<Shape>, &Circle::radius);
struct Empty {};
struct Labelled : Empty, Shape {
  std::unique_ptr<int> label;
};
TARE_ASSERT_PACKED(Labelled, base_class<Empty>, base_class<Shape>, &Labelled::label);
struct Gapped : Shape {
  std::uint32_t small = 0;
};

TEST(Layout, CountsTheTableOnceWhicheverClassBringsIt) {
  EXPECT_EQ(sizeof(Circle), 24u);
  EXPECT_EQ((lost_bytes<Circle>(&Circle::radius, &Circle::id)), 0u);  // the base's fields instead of the base
  EXPECT_EQ((lost_bytes<Gapped>(base_class<Shape>, &Gapped::small)), 4u);
}

struct OnlyLongNames {
  std::string name;
  union {
    std::uint64_t number;
    float part;
  };
};
TARE_ASSERT_PACKED(OnlyLongNames, &OnlyLongNames::name, &OnlyLongNames::number);

using Pair = std::pair<std::uint32_t, std::uint32_t>;
TARE_ASSERT_PACKED(Pair, &Pair::first, &Pair::second);

template <std::size_t kBytes>
struct Sized {
  std::uint8_t bytes[kBytes];
};

TEST(Layout, CountsTheSlopOfAClass) {
  EXPECT_EQ(slop_bytes<Sized<40>>(), 0u);
  EXPECT_EQ(slop_bytes<Sized<36>>(), 4u);  // glibc's classes are 24, 40, 56, ...
  EXPECT_EQ(slop_bytes<Sized<48>>(), 8u);
  EXPECT_EQ(slop_bytes<Sized<48>>(size_models::jemalloc), 0u);
  EXPECT_EQ(slop_bytes<Sized<48>>(size_models::tcmalloc), 16u);  // which has no class of 48
  EXPECT_EQ((slop_bytes<Sized<48>>(size_models::tcmalloc, 16)), 0u);
  EXPECT_EQ((slop_bytes<Sized<48>>(size_models::tcmalloc, 15)), 16u);
}

}  // namespace
}  // namespace tare
