// Heaps where addresses are few. A program of its own: a cage that is there already would count.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstddef>
#include <utility>

#include "lib/support/in_child.h"
#include "lib/support/sanitized.h"
#include "tare/gc/make.h"
#include "tare/gc/persistent.h"
#include "tare/gc/visitor.h"

namespace tare::gc {
namespace {

template <class Group>
struct LimitedLink : GarbageCollected<LimitedLink<Group>, Group> {
  void trace(Visitor& visitor) const { visitor.trace(next); }
  Member<LimitedLink, Group> next;
  char bytes[1000];
};

// Each is used in children only: a group's cage is reserved once.
template <class SomeDecoding>
struct ChildGroup {
  using Decoding = SomeDecoding;
  static constexpr std::size_t kCageBytes = std::size_t{16} << 30;
};
using Split = ChildGroup<SplitDecoding<10>>;
using Seed = ChildGroup<SeedDecoding<11>>;
using Seed16 = ChildGroup<SeedDecoding<12, 3>>;
using Low = ChildGroup<LowDecoding<13>>;

template <class Group>
int runs_under(rlim_t bytes) {
  return tare::testing::in_child([&] {
    const rlimit limit{bytes, bytes};
    if (setrlimit(RLIMIT_AS, &limit) != 0) return 1;
    CageResult<HeapOf<Group>> made = HeapOf<Group>::create();
    if (!made) return 2;
    HeapOf<Group> heap = std::move(made.value());
    Persistent<LimitedLink<Group>> all;
    for (int i = 0; i < 100'000; ++i) {
      auto* link = make<LimitedLink<Group>>(heap);
      if (link == nullptr) return 3;
      if (i % 2 == 0) continue;
      link->next = all.get();
      all = link;
    }
    heap.collect(StackState::HoldsNone);
    return heap.use().live_objects == 50'000 ? 0 : 4;
  });
}

TEST(HeapsUnderUlimit, Work) {
  if (kSanitized) GTEST_SKIP() << "sanitizers need terabytes";
  const rlim_t gib = rlim_t{1} << 30;
  EXPECT_EQ(runs_under<Split>(4 * gib), 0);  // ulimit -v 4194304
  EXPECT_EQ(runs_under<Split>(gib / 2), 0);
  EXPECT_EQ(runs_under<Seed>(4 * gib), 0);
  EXPECT_EQ(runs_under<Seed16>(4 * gib), 0);
  EXPECT_EQ(runs_under<Low>(4 * gib), 0);
  EXPECT_EQ(runs_under<Split>(gib / 16), 2);  // an error value
}

}  // namespace
}  // namespace tare::gc
