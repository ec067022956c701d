#include "tare/gc/heap.h"

#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "heap_fixture.h"
#include "lib/support/process_memory.h"
#include "lib/support/sanitized.h"
#include "tare/memory_reporter.h"
#include "tare/memory_snapshot.h"

namespace tare::gc {
namespace {

using namespace testing;

using HeapsOf = HeapTest;

TEST_F(HeapsOf, KeepWhatAPersistentReaches) {
  Persistent<Knot> root = make_one<Knot>(1);
  root->left = make_one<Knot>(2);
  root->left->right = make_one<Knot>(3);
  root->left->right->up = root.get();  // a cycle
  static_cast<void>(make_one<Knot>(4));
  collect();
  EXPECT_EQ(live(), 3u);
  EXPECT_EQ(root->left->right->value, 3);
  root->left = nullptr;
  collect();
  EXPECT_EQ(live(), 1u);
  root = nullptr;
  collect();
  EXPECT_EQ(live(), 0u);
}

TEST_F(HeapsOf, ReuseTheCellsOfTheDead) {
  Persistent<Knot> root = make_one<Knot>(1);
  const Knot* dead = make_one<Knot>(2);
  const auto place = reinterpret_cast<std::uintptr_t>(dead);
  root->left = make_one<Knot>(3);
  collect();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(make_one<Knot>(4)), place);
}

TEST_F(HeapsOf, AlignObjectsAndKeepThemApart) {
  struct alignas(16) Wide : GarbageCollected<Wide> {
    void trace(Visitor&) const {}
    unsigned char bytes[48];
  };
  struct Small : GarbageCollected<Small> {
    void trace(Visitor&) const {}
    unsigned char bytes[20];
  };
  std::vector<Persistent<Wide>> wide;
  std::vector<Persistent<Small>> small;
  for (int i = 0; i < 5000; ++i) {
    wide.emplace_back(make_one<Wide>());
    small.emplace_back(make_one<Small>());
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(wide.back().get()) % 16, 0u);
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(small.back().get()) % 8, 0u);
    std::memset(wide.back()->bytes, i & 0xff, sizeof(wide.back()->bytes));
    std::memset(small.back()->bytes, ~i & 0xff, sizeof(small.back()->bytes));
  }
  collect();
  EXPECT_EQ(live(), 10'000u);
  for (std::size_t i = 0; i < 5000; ++i) {
    for (const unsigned char byte : wide[i]->bytes) ASSERT_EQ(byte, i & 0xff);
    for (const unsigned char byte : small[i]->bytes) ASSERT_EQ(byte, ~i & 0xff);
  }
}

struct Text : GarbageCollected<Text> {
  explicit Text(std::size_t n) : length(n) {}
  void trace(Visitor&) const {}
  char* characters() { return reinterpret_cast<char*>(this + 1); }
  std::size_t length;
};

TEST_F(HeapsOf, GiveZerosBehindAnObjectOfAnySize) {
  std::vector<Persistent<Text>> texts;
  for (int round = 0; round < 3; ++round) {
    for (std::size_t length = 1; length < 300'000; length = length * 5 / 4 + 3) {
      Text* text = make_one<Text>(AdditionalBytes(length), length);
      ASSERT_NE(text, nullptr);
      for (std::size_t i = 0; i < length; ++i) ASSERT_EQ(text->characters()[i], '\0');
      std::memset(text->characters(), 'x', length);
      if (length % 2 == 0) texts.emplace_back(text);
    }
    collect();
    EXPECT_EQ(live(), texts.size());
  }
  for (const auto& text : texts) EXPECT_EQ(text->characters()[text->length - 1], 'x');
  EXPECT_EQ(make_one<Text>(AdditionalBytes(SIZE_MAX - 8), 1u), nullptr);
  EXPECT_EQ(make_one<Text>(AdditionalBytes(std::size_t{64} << 30), 1u), nullptr);
}

TEST_F(HeapsOf, ReturnPagesWhenMostHasDied) {
  if (kSanitized) GTEST_SKIP() << "the shadow counts too";
  Persistent<Knot> root = make_one<Knot>();
  Knot* last = root.get();
  for (int i = 0; i < 2'000'000; ++i) {
    last->left = make_one<Knot>(i);
    last = last->left.get();
  }
  collect();
  const std::size_t full = process_memory_bytes("Rss:");
  EXPECT_GT(heap_.use().page_bytes, std::size_t{40} << 20);
  root->left = nullptr;
  collect();
  EXPECT_LT(heap_.use().page_bytes + heap_.use().pooled_bytes, std::size_t{8} << 20);
  EXPECT_LT(process_memory_bytes("Rss:") + (std::size_t{30} << 20), full);
  heap_.trim();
  EXPECT_EQ(heap_.use().pooled_bytes, 0u);
}

struct Chunk : GarbageCollected<Chunk> {
  explicit Chunk(unsigned char fill) { std::memset(bytes, fill, sizeof(bytes)); }
  void trace(Visitor&) const {}
  unsigned char bytes[1500];
};

// Of 40,000 chunks every fortieth lives, so that no page is empty.
TEST_F(HeapsOf, ReturnWhatIsFreeInPagesThatAreInUse) {
  remake({.collections = Collections::ByHand});
  std::vector<Persistent<Chunk>> kept;
  for (std::size_t i = 0; i < 40'000; ++i) {
    Chunk* chunk = make_one<Chunk>(static_cast<unsigned char>(i));
    if (i % 40 == 0) kept.emplace_back(chunk);
  }
  collect();
  heap_.finish_sweeping();
  const std::size_t page_bytes = heap_.use().page_bytes;
  EXPECT_GT(page_bytes, std::size_t{50} << 20);
  EXPECT_EQ(heap_.use().discarded_bytes, 0u);
  const std::size_t before = process_memory_bytes("Rss:");
  heap_.trim();
  const std::size_t discarded = heap_.use().discarded_bytes;
  EXPECT_GT(discarded, page_bytes / 4 * 3);
  EXPECT_EQ(heap_.use().page_bytes, page_bytes);
  EXPECT_TRUE(kSanitized || process_memory_bytes("Rss:") + discarded / 10 * 9 < before);
  heap_.trim();
  EXPECT_EQ(heap_.use().discarded_bytes, discarded) << "counted once";
  for (std::size_t i = 0; i < kept.size(); ++i) {
    for (const unsigned char byte : kept[i]->bytes) ASSERT_EQ(byte, static_cast<unsigned char>(40 * i));
  }

  // Memory that is taken again isn't counted twice, and freed memory isn't counted.
  for (std::size_t i = 0; i < 1000; ++i) kept.emplace_back(make_one<Chunk>(static_cast<unsigned char>(1)));
  EXPECT_LE(heap_.use().discarded_bytes, discarded - 1000 * 1350);  // some lie beside what lives
  EXPECT_GT(heap_.use().discarded_bytes, discarded - 1000 * 1500 * 2);
  collect();
  for (std::size_t i = 0; i < 1000; ++i) ASSERT_EQ(kept[i]->bytes[1499], static_cast<unsigned char>(40 * i));
  kept.clear();
  collect();
  heap_.trim();
  EXPECT_EQ(heap_.use().discarded_bytes, 0u);
}

TEST_F(HeapsOf, CollectByThemselvesAsMuchIsMade) {
  Persistent<Knot> root = make_one<Knot>(1);
  for (int i = 0; i < 3'000'000; ++i) root->left = make_one<Knot>(i);
  EXPECT_GT(heap_.use().collections, 5u);
  EXPECT_LT(heap_.use().page_bytes, std::size_t{16} << 20);
}

// The start of an automatic collection, by the two numbers of a heap.
TEST_F(HeapsOf, AreFirstCollectedAfterTheLeastGrowth) {
  for (const std::size_t least : {std::size_t{1} << 20, std::size_t{8} << 20}) {
    remake({.least_growth_bytes = least});
    EXPECT_EQ(heap_.use().limit_bytes, least);
    std::size_t allocated = 0;
    while (heap_.use().collections == 0 && !heap_.use().is_marking) {
      allocated = heap_.use().allocated_bytes;
      ASSERT_LE(allocated, least);
      make_one<Knot>(1);
    }
    EXPECT_GE(allocated, least / 2);  // by steps marking begins ahead of the limit
  }
}

TEST_F(HeapsOf, GrowByAShareOfWhatSurvives) {
  for (const std::size_t percent : {50, 100, 300}) {
    remake({.growth_percent = percent, .least_growth_bytes = 1024});
    Persistent<Knot> list;
    for (int i = 0; i < 20'000; ++i) {
      Knot* knot = make_one<Knot>(i);
      knot->left = list.get();
      list = knot;
    }
    collect();
    heap_.finish_sweeping();
    const HeapUse use = heap_.use();
    EXPECT_NEAR(static_cast<double>(use.limit_bytes),
                static_cast<double>(use.live_bytes) * static_cast<double>(percent) / 100,
                static_cast<double>(use.live_bytes) / 10)
        << percent;
    list = nullptr;
    collect();
    EXPECT_EQ(heap_.use().limit_bytes, 1024u);  // small heaps grow by the least
  }
}

TEST_F(HeapsOf, NeverScanTheStackOfAnEventLoopThatCollectsInTime) {
  Persistent<Knot> root = make_one<Knot>();
  constexpr std::size_t kTurns = 50;
  for (std::size_t turn = 0; turn < kTurns; ++turn) {
    Knot* dead = nullptr;  // what the stack still has of a turn doesn't count
    while (heap_.use().allocated_bytes < heap_.use().limit_bytes / 2) {
      dead = make_one<Knot>(1);
      root->left = dead;
    }
    root->left = nullptr;
    collect();
    EXPECT_EQ(live(), 1u) << dead;
    EXPECT_EQ(heap_.use().last_stack_roots, 0u);
  }
  EXPECT_EQ(heap_.use().collections, kTurns);
}

TEST_F(HeapsOf, DontCollectInAScopeThatForbidsIt) {
  {
    const NoCollectionScope scope(heap_);
    for (int i = 0; i < 1'000'000; ++i) static_cast<void>(make_one<Knot>(i));
    collect();
    EXPECT_EQ(heap_.use().collections, 0u);
  }
  collect();
  EXPECT_EQ(heap_.use().collections, 1u);
  EXPECT_EQ(live(), 0u);
}

TEST_F(HeapsOf, EndTheProgramThatCollectsWhereItMayNot) {
  EXPECT_DEATH(
      {
        const DisallowCollectionScope scope(heap_);
        heap_.collect(StackState::HoldsNone);
      },
      "a collection in a DisallowCollectionScope");
}

// An allocation in a constructor may collect, while only the stack refers to its object.
struct Parent : GarbageCollected<Parent> {
  explicit Parent(Heap& heap, bool collects) {
    first = make<Knot>(heap, 5);
    if (collects) heap.collect(StackState::MayHoldPointers);
    second = make<Knot>(heap, 6);
  }
  void trace(Visitor& visitor) const {
    visitor.trace(first);
    visitor.trace(second);
  }
  Member<Knot> first, second;
};

TEST_F(HeapsOf, KeepWhatIsInConstruction) {
  Persistent<Parent> parent = make_one<Parent>(heap_, true);
  collect();
  EXPECT_EQ(parent->first->value, 5);
  EXPECT_EQ(parent->second->value, 6);
  EXPECT_EQ(live(), 3u);
}

// In a page of several times 64 KiB, wherever it lies.
TEST_F(HeapsOf, KeepWhatIsInConstructionAnywhereInAPage) {
  struct Wide : GarbageCollected<Wide> {
    explicit Wide(Heap& heap) {
      knot = make<Knot>(heap, 8);
      heap.collect(StackState::MayHoldPointers);
    }
    void trace(Visitor& visitor) const { visitor.trace(knot); }
    char before[3000] = {};
    Member<Knot> knot;
  };
  std::vector<Persistent<Wide>> all;
  for (int i = 0; i < 200; ++i) all.emplace_back(make_one<Wide>(heap_));
  collect();
  EXPECT_EQ(live(), 400u);
  for (const auto& wide : all) ASSERT_EQ(wide->knot->value, 8);
}

TEST_F(HeapsOf, KeepWhatALargeObjectsConstructorHolds) {
  struct Large : GarbageCollected<Large> {
    explicit Large(Heap& heap) {
      knot = make<Knot>(heap, 8);
      heap.collect(StackState::MayHoldPointers);
    }
    void trace(Visitor& visitor) const { visitor.trace(knot); }
    char before[100'000] = {};
    Member<Knot> knot;
  };
  Persistent<Large> large = make_one<Large>(heap_);
  EXPECT_EQ(large->knot->value, 8);
  EXPECT_EQ(live(), 2u);
}

// Work of a base or a mixin after the whole object is made.
struct AnnouncedFirst : GarbageCollected<AnnouncedFirst> {
  void after_make() { announced.push_back(name()); }
  virtual std::string name() const { return "base"; }
  void trace(Visitor& visitor) const { visitor.trace(knot); }
  Member<Knot> knot;
  static inline std::vector<std::string> announced;

 protected:
  ~AnnouncedFirst() = default;
};
struct DerivedAnnounced final : AnnouncedFirst {
  std::string name() const override { return "derived"; }
};
struct Counting : GarbageCollectedMixin {
  void after_make() { after = 1 + sum(); }
  virtual int sum() const = 0;
  int after = 0;

 protected:
  ~Counting() = default;
};
struct Mixed final : GarbageCollected<Mixed>, Counting {
  explicit Mixed(int n) : number(n) {}
  int sum() const override { return number; }
  void trace(Visitor&) const {}
  int number;
};

TEST_F(HeapsOf, TellAnObjectThatItIsMade) {
  AnnouncedFirst::announced.clear();
  static_cast<void>(make_one<DerivedAnnounced>());
  EXPECT_EQ(AnnouncedFirst::announced, std::vector<std::string>{"derived"});
  const Persistent<Mixed> mixed = make_one<Mixed>(41);
  EXPECT_EQ(mixed->after, 42);
}

TEST_F(HeapsOf, TraceAnObjectThatMakesOthersWhenItIsMade) {
  struct Making : GarbageCollected<Making> {
    explicit Making(Heap& heap) : owner(&heap) {}
    void after_make() {
      knot = make<Knot>(*owner, 5);
      owner->collect(StackState::MayHoldPointers);
      EXPECT_GT(traced, 0) << "no longer in construction";
    }
    void trace(Visitor& visitor) const {
      ++traced;
      visitor.trace(knot);
    }
    Heap* owner;
    Member<Knot> knot;
    mutable int traced = 0;
  };
  const Persistent<Making> making = make_one<Making>(heap_);
  EXPECT_EQ(making->knot->value, 5);
  collect();
  EXPECT_EQ(live(), 2u);
}

TEST_F(HeapsOf, TakeTheCellBackIfAConstructorThrows) {
  struct Throwing : GarbageCollected<Throwing> {
    explicit Throwing(bool does) {
      if (does) throw std::runtime_error("no");
    }
    void trace(Visitor&) const { ADD_FAILURE() << "of what was never made"; }
    std::string text;  // a destructor, which must not run
  };
  EXPECT_THROW(static_cast<void>(make_one<Throwing>(true)), std::runtime_error);
  heap_.collect(StackState::MayHoldPointers);
  EXPECT_EQ(live(), 0u);
}

TEST_F(HeapsOf, TellTypesAndReportThem) {
  Persistent<Knot> root = make_one<Knot>();
  for (int i = 0; i < 9; ++i) {
    Knot* knot = make_one<Knot>();
    knot->left = root->left;
    root->left = knot;
  }
  Persistent<Text> text = make_one<Text>(AdditionalBytes(100'000), 100'000u);
  std::map<std::string, TypeUse> types;
  heap_.for_each_type([&](const TypeUse& type) { types[std::string(type.name)] = type; });
  ASSERT_EQ(types.size(), 2u);
  EXPECT_TRUE(kKnotName.starts_with("tare::") && kKnotName.ends_with("::testing::Knot")) << kKnotName;
  EXPECT_EQ(types.at(kKnotName).objects, 10u);
  EXPECT_EQ(types.at(kKnotName).cell_bytes, 10u * 24);  // 16 and a header, in steps of 8
  types.erase(kKnotName);                               // compilers have other words for the namespace without a name
  const auto& [name, use] = *types.begin();
  EXPECT_NE(name.find("Text"), std::string::npos) << name;
  EXPECT_EQ(use.objects, 1u);
  EXPECT_GE(use.cell_bytes, 100'000u);
}

TEST_F(HeapsOf, FreeEverythingWhenTheyAreDestroyed) {
  Persistent<Knot> root = make_one<Knot>();
  WeakPersistent<Knot> weak = root.get();
  heap_ = Heap();
  EXPECT_EQ(root.get(), nullptr);
  EXPECT_EQ(weak.get(), nullptr);
}

TEST_F(HeapsOf, MarkDeepGraphsWithoutRecursion) {
  Persistent<Knot> root = make_one<Knot>();
  Knot* last = root.get();
  for (int i = 0; i < 300'000; ++i) {
    Knot* next = make_one<Knot>(i);
    last->right = next;
    next->up = last;
    last = next;
  }
  collect();
  EXPECT_EQ(live(), 300'001u);
}

}  // namespace
}  // namespace tare::gc
