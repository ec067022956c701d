// Classes with several bases: derived ones, and mixins that Members point to.
#include "heap_fixture.h"

namespace tare::gc {
namespace {

using namespace testing;

using Mixins = HeapTest;

struct Listener : GarbageCollectedMixin {
  virtual int hear() const = 0;
  std::uint64_t heard = 0;

 protected:
  ~Listener() = default;
};
struct MixinWatcher : GarbageCollectedMixin {
  std::uint64_t seen = 7;
};

struct Button final : GarbageCollected<Button>, Listener, MixinWatcher {
  int hear() const override { return 42; }
  void trace(Visitor& visitor) const { visitor.trace(label); }
  Member<Knot> label;
};

struct Page : GarbageCollected<Page> {
  void trace(Visitor& visitor) const {
    visitor.trace(listener);
    visitor.trace(watcher);
    visitor.trace(weak);
  }
  Member<Listener> listener;
  UncompressedMember<MixinWatcher> watcher;
  WeakMember<MixinWatcher> weak;
};

TEST_F(Mixins, KeepTheWholeObject) {
  Persistent<Page> page = make_one<Page>();
  {
    Button* button = make_one<Button>();
    button->label = make_one<Knot>(3);
    page->listener = button;
  }
  collect();
  EXPECT_EQ(live(), 3u);
  EXPECT_EQ(page->listener->hear(), 42);
  page->watcher = static_cast<Button*>(page->listener.get());
  page->listener = nullptr;
  collect();
  EXPECT_EQ(live(), 3u);
  EXPECT_EQ(page->watcher->seen, 7u);
  page->weak = page->watcher.get();
  page->watcher.clear();
  collect();
  EXPECT_EQ(live(), 1u);
  EXPECT_EQ(page->weak.get(), nullptr);
}

TEST_F(Mixins, AreRootsAsWell) {
  Persistent<MixinWatcher> watcher = make_one<Button>();
  WeakPersistent<Listener> listener = static_cast<Button*>(watcher.get());
  collect();
  EXPECT_EQ(watcher->seen, 7u);
  EXPECT_NE(listener.get(), nullptr);
  watcher = nullptr;
  collect();
  EXPECT_EQ(listener.get(), nullptr);
}

// Bases that by themselves would lie at any multiple of 4.
struct Number : GarbageCollectedMixin {
  int number = 5;
};
struct Flag : GarbageCollectedMixin {
  bool flag = true;
};
struct Odd : GarbageCollected<Odd> {
  int first = 1;
};
struct Small final : Odd, Number, Flag {
  void trace(Visitor&) const {}
};

TEST_F(Mixins, OfAFewBytesAreFound) {
  Small* small = make_one<Small>();
  const Member<Number> number = small;
  const Member<Flag> flag = small;
  EXPECT_EQ(number.get(), static_cast<Number*>(small));
  EXPECT_EQ(flag.get(), static_cast<Flag*>(small));
  EXPECT_EQ(number->number, 5);
  EXPECT_TRUE(flag->flag);
}

struct Special : Knot {
  void trace(Visitor& visitor) const {
    Knot::trace(visitor);
    visitor.trace(more);
  }
  Member<Knot> more;
};

TEST_F(Mixins, DerivedObjectsAreTracedAsWhatTheyAre) {
  Special* special = make_one<Special>();
  special->more = make_one<Knot>(9);
  special->left = make_one<Knot>(8);
  Persistent<Knot> root = special;
  collect();
  EXPECT_EQ(live(), 3u);
  EXPECT_EQ(static_cast<Special*>(root.get())->more->value, 9);
}

// A part with Members of its own.
struct Pair {
  void trace(Visitor& visitor) const {
    visitor.trace(a);
    visitor.trace(b);
  }
  Member<Knot> a, b;
};
struct Whole : GarbageCollected<Whole> {
  void trace(Visitor& visitor) const { visitor.trace(pair); }
  Pair pair;
};

TEST_F(Mixins, PartsAreTraced) {
  Persistent<Whole> whole = make_one<Whole>();
  whole->pair.a = make_one<Knot>(1);
  whole->pair.b = make_one<Knot>(2);
  collect();
  EXPECT_EQ(live(), 3u);
}

}  // namespace
}  // namespace tare::gc
