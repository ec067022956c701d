// Destructors and prefinalizers: which run, when, and in what order.
#include <string>
#include <vector>

#include "heap_fixture.h"
#include "tare/gc/explicit.h"

namespace tare::gc {
namespace {

using namespace testing;

using Finalizers = HeapTest;

int destroyed = 0;
std::vector<int> prefinalized;

struct Counted : GarbageCollected<Counted> {
  explicit Counted(int n) : number(n) {}
  ~Counted() { ++destroyed; }
  void trace(Visitor& visitor) const { visitor.trace(next); }
  int number;
  Member<Counted> next;
};

struct Prepared : GarbageCollected<Prepared> {
  explicit Prepared(int n) : number(n) {}
  void prefinalize() {
    prefinalized.push_back(number);
    if (other) other->number += 100;  // all that is dead is still whole
  }
  void trace(Visitor& visitor) const { visitor.trace(other); }
  int number;
  Member<Prepared> other;
};

TEST_F(Finalizers, ExistWhereADestructorIsNotTrivial) {
  EXPECT_TRUE(TypeOf<Counted>::kHasFinalizer);
  EXPECT_FALSE(TypeOf<Knot>::kHasFinalizer);
  EXPECT_FALSE(TypeOf<Prepared>::kHasFinalizer);
}

// Destroyed by its base, which knows what it is: no virtual destructor, and only what is needed.
struct Shape : GarbageCollected<Shape> {
  explicit Shape(bool is_named) : has_name(is_named) {}
  void trace(Visitor&) const {}
  void finalize_collected();
  bool has_name;
  static inline int finalized = 0;
};
struct NamedShape final : Shape {
  NamedShape() : Shape(true), name(100, 'x') {}
  std::string name;  // leak checkers tell if nobody destroys it
};
struct PlainShape final : Shape {
  PlainShape() : Shape(false) {}
};
void Shape::finalize_collected() {
  ++finalized;
  if (has_name) static_cast<NamedShape*>(this)->~NamedShape();
}

TEST_F(Finalizers, MayBeFunctionsOfTheClassInTheDestructorsPlace) {
  static_assert(std::is_trivially_destructible_v<PlainShape> && TypeOf<PlainShape>::kHasFinalizer);
  struct Own : GarbageCollected<Own> {
    ~Own() { ADD_FAILURE() << "not called"; }
    void trace(Visitor&) const {}
    void finalize_collected() { ++destroyed; }
  };
  Shape::finalized = destroyed = 0;
  Persistent<Shape> kept = make_one<NamedShape>();
  static_cast<void>(make_one<NamedShape>());
  static_cast<void>(make_one<PlainShape>());
  static_cast<void>(make_one<Own>());
  collect();
  heap_.finish_sweeping();
  EXPECT_EQ(Shape::finalized, 2);
  EXPECT_EQ(destroyed, 1);
  free_unreferenced(heap_, make_one<PlainShape>());
  EXPECT_EQ(Shape::finalized, 3);
  heap_ = Heap();
  EXPECT_EQ(Shape::finalized, 4);
}

TEST_F(Finalizers, SeeThatTheHeapIsBusy) {
  static Heap* current = nullptr;
  static int seen = 0;
  struct Asking : GarbageCollected<Asking> {
    ~Asking() {
      EXPECT_TRUE(current->is_busy());
      EXPECT_TRUE(current->is_sweeping());
      seen += 1;
    }
    void prefinalize() {
      EXPECT_TRUE(current->is_busy());
      EXPECT_FALSE(current->use().is_marking);
      seen += 100;
    }
    void trace(Visitor&) const {}
  };
  current = &heap_;
  static_cast<void>(make_one<Asking>());
  EXPECT_FALSE(heap_.is_busy() || heap_.is_sweeping());
  collect();
  EXPECT_EQ(seen, 100);
  EXPECT_TRUE(heap_.is_sweeping());
  EXPECT_FALSE(heap_.is_busy());
  heap_.finish_sweeping();
  EXPECT_EQ(seen, 101);
  EXPECT_FALSE(heap_.is_sweeping());
}

TEST_F(Finalizers, RunOnceForEachOfTheDeadAndForNobodyElse) {
  destroyed = 0;
  Persistent<Counted> first = make_one<Counted>(0);
  for (int i = 1; i < 10'000; ++i) {
    Counted* counted = make_one<Counted>(i);
    if (i % 10 == 0) {
      counted->next = first->next;
      first->next = counted;
    }
  }
  collect();
  heap_.finish_sweeping();
  EXPECT_EQ(destroyed, 9000);
  collect();
  heap_.finish_sweeping();
  EXPECT_EQ(destroyed, 9000);
  first = nullptr;
  collect();
  heap_.finish_sweeping();
  EXPECT_EQ(destroyed, 10'000);
}

TEST_F(Finalizers, RunLazilyAsCellsAreReused) {
  destroyed = 0;
  for (int i = 0; i < 20'000; ++i) static_cast<void>(make_one<Counted>(i));
  collect();
  EXPECT_EQ(destroyed, 0);
  static_cast<void>(make_one<Counted>(-1));
  EXPECT_GT(destroyed, 1000);  // one page
  EXPECT_LT(destroyed, 20'000);
  collect();
  EXPECT_EQ(destroyed, 20'000);  // a collection ends the sweep of the one before; and one more is dead
  heap_.finish_sweeping();
  EXPECT_EQ(destroyed, 20'001);
}

TEST_F(Finalizers, RunForLargeObjectsAndAtTheEnd) {
  struct Large : GarbageCollected<Large> {
    ~Large() { ++destroyed; }
    void trace(Visitor&) const {}
    char bytes[100'000];
  };
  destroyed = 0;
  Persistent<Large> kept = make_one<Large>();
  static_cast<void>(make_one<Large>());
  Persistent<Counted> small = make_one<Counted>(1);
  collect();
  EXPECT_EQ(destroyed, 1);
  heap_ = Heap();
  EXPECT_EQ(destroyed, 3);
}

TEST_F(Finalizers, FreeWhatMallocGave) {
  struct Named : GarbageCollected<Named> {
    explicit Named(std::string text) : name(std::move(text)) {}
    void trace(Visitor&) const {}
    std::string name;  // leak checkers tell if its destructor doesn't run
  };
  for (int i = 0; i < 1000; ++i) static_cast<void>(make_one<Named>(std::string(100, 'x')));
  collect();
}

TEST_F(Finalizers, OfDestructorsMakeNothing) {
  static Heap* current = nullptr;
  static int made = 0;
  struct Maker : GarbageCollected<Maker> {
    ~Maker() {
      if (make<Knot>(*current) != nullptr) ++made;
    }
    void trace(Visitor&) const {}
    char bytes[100'000];
  };
  current = &heap_;
  static_cast<void>(make_one<Maker>());
  collect();
  EXPECT_EQ(made, 0);
}

TEST_F(Finalizers, PrefinalizersRunLatestFirstWhileTheDeadAreWhole) {
  prefinalized.clear();
  Persistent<Prepared> kept = make_one<Prepared>(1);
  Prepared* second = make_one<Prepared>(2);
  Prepared* third = make_one<Prepared>(3);
  third->other = second;
  second->other = kept.get();
  collect();
  EXPECT_EQ(prefinalized, (std::vector<int>{3, 102}));
  EXPECT_EQ(kept->number, 101);
  kept = nullptr;
  collect();
  EXPECT_EQ(prefinalized, (std::vector<int>{3, 102, 101}));
}

// A base's prefinalize() is called for derived classes, also where the base is a mixin.
struct Announcing : GarbageCollectedMixin {
  void prefinalize() { announced.push_back(what()); }
  virtual int what() const = 0;
  static inline std::vector<int> announced;

 protected:
  ~Announcing() = default;
};
struct AnnouncedLast final : GarbageCollected<AnnouncedLast>, Announcing {
  explicit AnnouncedLast(int n) : number(n) {}
  int what() const override { return number; }
  void trace(Visitor& visitor) const { visitor.trace(other); }
  int number;
  Member<Announcing> other;
};
struct Louder final : GarbageCollected<Louder>, Announcing {
  explicit Louder(int n) : number(n) {}
  int what() const override { return number + 1000; }
  void trace(Visitor&) const {}
  int number;
};

TEST_F(Finalizers, PrefinalizersOfMixinsAndBasesRunAsTheObjectWasMade) {
  Announcing::announced.clear();
  Persistent<AnnouncedLast> kept = make_one<AnnouncedLast>(1);
  kept->other = make_one<Louder>(2);
  static_cast<void>(make_one<Louder>(3));
  collect();
  EXPECT_EQ(Announcing::announced, (std::vector<int>{1003})) << "not of what lives, also by a mixin's pointer";
  kept = nullptr;
  collect();
  EXPECT_EQ(Announcing::announced, (std::vector<int>{1003, 1002, 1}));
}

TEST_F(Finalizers, PrefinalizersMayChangeLiveObjectsAndMakeNothing) {
  static Heap* current = nullptr;
  static Knot* made = nullptr;
  struct Detaching : GarbageCollected<Detaching> {
    explicit Detaching(Knot* list) : owner(list) {}
    void prefinalize() {
      owner->value = 7;
      owner->left = nullptr;
      made = make<Knot>(*current);
    }
    void trace(Visitor& visitor) const { visitor.trace(owner); }
    Member<Knot> owner;
  };
  current = &heap_;
  Persistent<Knot> list = make_one<Knot>(1);
  list->left = make_one<Knot>(2);
  static_cast<void>(make_one<Detaching>(list.get()));
  collect();
  EXPECT_EQ(list->value, 7);
  EXPECT_EQ(list->left, nullptr);
  EXPECT_EQ(made, nullptr);
  collect();
  EXPECT_EQ(live(), 1u);
}

// A prefinalizer can't allocate, in this collection and those that follow; other code can.
TEST_F(Finalizers, PrefinalizersThatTryToMakeGetNothingInAnyCollection) {
  static Heap* current = nullptr;
  static int refused = 0;
  struct Wanting : GarbageCollected<Wanting> {
    explicit Wanting(Knot* knot) : owner(knot) {}
    void prefinalize() {
      Knot* small = make<Knot>(*current);
      Knot* large = make<Knot>(*current, AdditionalBytes(100'000));
      current->collect(StackState::HoldsNone);
      if (small == nullptr && large == nullptr) ++refused;
      owner->left = small;
    }
    void trace(Visitor& visitor) const { visitor.trace(owner); }
    Member<Knot> owner;
  };
  current = &heap_;
  refused = 0;
  const Persistent<Knot> owner = make_one<Knot>();
  for (int collection = 1; collection <= 5; ++collection) {
    for (int i = 0; i < 10; ++i) static_cast<void>(make_one<Wanting>(owner.get()));
    const std::size_t before = heap_.use().collections;
    collect();
    EXPECT_EQ(heap_.use().collections, before + 1);
    EXPECT_EQ(refused, 10 * collection);
    EXPECT_EQ(live(), 1u);
    EXPECT_EQ(owner->left, nullptr);
    owner->right = make_one<Knot>(collection);
    EXPECT_EQ(owner->right->value, collection);
    owner->right = nullptr;
  }
}

TEST_F(Finalizers, PrefinalizersRunWhenTheHeapEnds) {
  prefinalized.clear();
  Persistent<Prepared> kept = make_one<Prepared>(1);
  heap_ = Heap();
  EXPECT_EQ(prefinalized, (std::vector<int>{1}));
}

TEST_F(Finalizers, MayMakeAndDropPersistents) {
  static Persistent<Knot> global;
  struct Holder : GarbageCollected<Holder> {
    explicit Holder(Knot* knot) : knot_(knot) {}
    ~Holder() { global = knot_; }
    void trace(Visitor&) const {}
    Persistent<Knot> knot_;
  };
  static_cast<void>(make_one<Holder>(make_one<Knot>(12)));
  collect();
  heap_.finish_sweeping();
  collect();
  ASSERT_NE(global.get(), nullptr);
  EXPECT_EQ(global->value, 12);
  static_cast<void>(make_one<Holder>(global.get()));
  heap_ = Heap();
  EXPECT_EQ(global.get(), nullptr);
}

}  // namespace
}  // namespace tare::gc
