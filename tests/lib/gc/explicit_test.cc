#include "tare/gc/explicit.h"

#include <cstring>
#include <string>

#include "heap_fixture.h"

namespace tare::gc {
namespace {

using namespace testing;

using Explicit = HeapTest;

struct Named : GarbageCollected<Named> {
  explicit Named(std::string text) : name(std::move(text)) {}
  void trace(Visitor&) const {}
  void prefinalize() { ++prefinalized; }
  std::string name;
  static inline int prefinalized = 0;
};

struct Bytes : GarbageCollected<Bytes> {
  void trace(Visitor&) const {}
};

TEST_F(Explicit, TheNewestObjectsPlaceIsTheNextOnes) {
  Knot* first = make_one<Knot>(1);
  const auto place = reinterpret_cast<std::uintptr_t>(first);
  free_unreferenced(heap_, first);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(make_one<Knot>(2)), place);
}

TEST_F(Explicit, OlderObjectsPlacesAreUsedWhenTheStretchEnds) {
  Persistent<Knot> all;
  Knot* old = make_one<Knot>(1);
  const auto place = reinterpret_cast<std::uintptr_t>(old);
  for (int i = 0; i < 10; ++i) {
    Knot* knot = make_one<Knot>(i);
    knot->left = all.get();
    all = knot;
  }
  free_unreferenced(heap_, old);
  const std::size_t pages = heap_.use().page_bytes;
  bool is_found = false;
  while (heap_.use().page_bytes == pages && !is_found) {
    is_found = reinterpret_cast<std::uintptr_t>(make_one<Knot>(2)) == place;
  }
  EXPECT_TRUE(is_found);
  collect();
  EXPECT_EQ(live(), 10u);
}

TEST_F(Explicit, FreedOnesAreNoObjectsForACollection) {
  Persistent<Named> kept = make_one<Named>(std::string(50, 'a'));
  for (int i = 0; i < 100; ++i) {
    Named* named = make_one<Named>(std::string(50, 'b'));
    Named* other = make_one<Named>(std::string(50, 'c'));
    free_unreferenced(heap_, named);
    if (i % 2 == 0) free_unreferenced(heap_, other);
  }
  Named::prefinalized = 0;
  heap_.collect(StackState::MayHoldPointers);
  collect();
  heap_.finish_sweeping();
  EXPECT_EQ(live(), 1u);
  EXPECT_EQ(Named::prefinalized, 50);
  EXPECT_EQ(kept->name, std::string(50, 'a'));
  free_unreferenced(heap_, static_cast<Named*>(nullptr));
}

TEST_F(Explicit, LargeOnesGoBackToTheCage) {
  const std::size_t before = heap_.use().page_bytes;
  auto* bytes = make_one<Bytes>(AdditionalBytes(1'000'000));
  EXPECT_GT(heap_.use().page_bytes, before + 1'000'000);
  free_unreferenced(heap_, bytes);
  EXPECT_EQ(heap_.use().page_bytes, before);
}

TEST_F(Explicit, RoomBehindIsWhatTheCellHas) {
  for (const std::size_t wanted : {1u, 100u, 1000u, 10'000u, 100'000u}) {
    Persistent<Bytes> bytes = make_one<Bytes>(AdditionalBytes(wanted));
    const std::size_t room = room_behind(heap_, bytes.get());
    EXPECT_GE(room, wanted);
    EXPECT_LE(room, wanted + wanted / 8 + 4096);
    std::memset(static_cast<void*>(bytes.get() + 1), 'x', room);
    Persistent<Bytes> next = make_one<Bytes>(AdditionalBytes(wanted));
    EXPECT_EQ(reinterpret_cast<const char*>(next.get() + 1)[0], '\0');
    collect();
  }
}

// Also of those that lie further on in a page of several times 64 KiB.
TEST_F(Explicit, RoomBehindIsTheSameWhereverAnObjectLies) {
  const std::size_t room = room_behind(heap_, make_one<Bytes>(AdditionalBytes(3000)));
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(room_behind(heap_, make_one<Bytes>(AdditionalBytes(3000))), room) << i;
  }
}

TEST_F(Explicit, TwiceEndsTheProgram) {
  Knot* knot = make_one<Knot>(1);
  static_cast<void>(make_one<Knot>(2));
  free_unreferenced(heap_, knot);
  EXPECT_DEATH(free_unreferenced(heap_, knot), "free_unreferenced\\(\\) of what is no object");
}

}  // namespace
}  // namespace tare::gc
