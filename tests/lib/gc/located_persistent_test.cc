#include "tare/gc/located_persistent.h"

#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "heap_fixture.h"

namespace tare::gc {
namespace {

using namespace testing;

using Located = HeapTest;

// Others pay nothing for them.
static_assert(sizeof(Persistent<Knot>) == 24 && sizeof(LocatedPersistent<Knot>) == 48);
static_assert(sizeof(CrossThreadPersistent<Knot>) == 24 && sizeof(LocatedCrossThreadPersistent<Knot>) == 48);

template <class Root>
void expect_made(const Root& root, std::uint32_t line) {
  EXPECT_EQ(root.where().line(), line);
  EXPECT_TRUE(std::string_view(root.where().file_name()).ends_with("located_persistent_test.cc"));
  EXPECT_NE(std::string_view(root.where().function_name()).find("TestBody"), std::string_view::npos);
}

TEST_F(Located, RootsThatWereNeverAnythingSayNothing) {
  const LocatedPersistent<Knot> none;
  const LocatedCrossThreadPersistent<Knot> far_none;
  EXPECT_EQ(none.where().line(), 0u);
  EXPECT_EQ(far_none.where().line(), 0u);
  EXPECT_STREQ(none.where().file_name(), "");
  EXPECT_FALSE(none || far_none);
}

TEST_F(Located, RootsSayTheLineThatGaveThemTheirObject) {
  Knot* knot = make_one<Knot>(1);
  knot->left = make_one<Knot>(2);
  const LocatedPersistent<Knot> made = knot;
  expect_made(made, __LINE__ - 1);
  const LocatedPersistent<Knot> of_member = knot->left;
  expect_made(of_member, __LINE__ - 1);
  const Persistent<Knot> plain = knot;
  LocatedPersistent<Knot> assigned;
  assigned = plain;
  expect_made(assigned, __LINE__ - 1);
  assigned = knot->left.get();
  expect_made(assigned, __LINE__ - 1);
  const CrossThreadPersistent<Knot> plain_far = knot;
  LocatedCrossThreadPersistent<Knot> far;
  far = plain_far;
  expect_made(far, __LINE__ - 1);
  EXPECT_EQ(made.get(), knot);
  EXPECT_EQ(of_member->value, 2);
  EXPECT_EQ(assigned->value, 2);
  EXPECT_EQ(far.get(), knot);
}

TEST_F(Located, CopiesKeepTheLine) {
  struct Derived : Knot {};
  LocatedPersistent<Derived> derived = make_one<Derived>();
  const std::uint32_t line = __LINE__ - 1;
  LocatedPersistent<Derived> copy = derived;
  LocatedPersistent<Knot> base;
  base = copy;
  LocatedPersistent<Derived> moved = std::move(copy);
  std::vector<LocatedPersistent<Derived>> several(3, moved);
  several.reserve(1000);
  for (const auto& root : several) expect_made(root, line);
  expect_made(base, line);
  expect_made(moved, line);
  EXPECT_FALSE(copy);
  LocatedCrossThreadPersistent<Derived> far = derived.get();
  const std::uint32_t far_line = __LINE__ - 1;
  std::thread([&] {
    LocatedCrossThreadPersistent<Derived> there = far;
    LocatedCrossThreadPersistent<Derived> moved_there;
    moved_there = std::move(there);
    EXPECT_EQ(moved_there.where().line(), far_line);
    EXPECT_EQ(moved_there.get(), derived.get());
    EXPECT_FALSE(there);
  }).join();
}

TEST_F(Located, RootsKeepTheirObjectsAsOthersDo) {
  LocatedPersistent<Knot> strong = make_one<Knot>(1);
  LocatedCrossThreadPersistent<Knot> far = make_one<Knot>(2);
  static_cast<void>(make_one<Knot>(3));
  collect();
  EXPECT_EQ(live(), 2u);
  EXPECT_EQ(strong->value + far->value, 3);
  strong.clear();
  far.clear();
  collect();
  EXPECT_EQ(live(), 0u);
  strong = make_one<Knot>(1);
  far = make_one<Knot>(2);
  heap_ = Heap();
  EXPECT_FALSE(strong || far);
}

}  // namespace
}  // namespace tare::gc
