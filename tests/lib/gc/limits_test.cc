// Ends of addresses, of the budget and of the cage.
#include <vector>

#include "heap_fixture.h"

namespace tare::gc {
namespace {

using namespace testing;

template <class Group>
struct Link : GarbageCollected<Link<Group>, Group> {
  void trace(Visitor& visitor) const { visitor.trace(next); }
  Member<Link, Group> next;
  char bytes[1000];
};

// Makes objects that all live until there is no memory for more; how many.
template <class Group>
[[gnu::noinline]] std::size_t fill(HeapOf<Group>& heap, Persistent<Link<Group>>& all) {
  std::size_t made = 0;
  for (;;) {
    auto* link = make<Link<Group>>(heap);
    if (link == nullptr) return made;
    link->next = all.get();
    all = link;
    ++made;
  }
}

TEST(HeapLimits, AHeapStaysWithinItsBudget) {
  HeapOptions options;
  options.budget_bytes = std::size_t{8} << 20;
  Heap heap = std::move(Heap::create(options).value());
  Persistent<Link<DefaultGroup>> all;
  const std::size_t made = fill(heap, all);
  EXPECT_GT(made, 6u << 10);
  EXPECT_LE(heap.use().page_bytes, options.budget_bytes);
  all = nullptr;
  heap.collect(StackState::HoldsNone);
  EXPECT_GT(fill(heap, all), 6u << 10);  // an error, not the end
}

TEST(HeapLimits, NearTheLimitTheProgramIsAsked) {
  struct Asked {
    int times = 0;
    NearLimit last;
    std::vector<Persistent<Link<DefaultGroup>>> cache;  // no list: one that the stack still holds keeps only itself
  } asked;
  HeapOptions options;
  options.budget_bytes = std::size_t{4} << 20;
  options.near_limit_context = &asked;
  options.near_limit = [](void* context, const NearLimit& limit) {
    auto& what = *static_cast<Asked*>(context);
    what.last = limit;
    if (++what.times == 1) {
      what.cache.clear();
      return limit.budget_bytes;
    }
    return what.times == 2 ? limit.budget_bytes + (std::size_t{1} << 20) : limit.budget_bytes;
  };
  Heap heap = std::move(Heap::create(options).value());
  Persistent<Link<DefaultGroup>> all;
  for (int i = 0; i < 1000; ++i) asked.cache.emplace_back(make<Link<DefaultGroup>>(heap));
  const std::size_t made = fill(heap, all);
  EXPECT_EQ(asked.times, 3);
  EXPECT_TRUE(asked.cache.empty());
  EXPECT_FALSE(asked.last.is_cage_exhausted);
  EXPECT_GT(made, 4500u);
  EXPECT_LE(heap.use().page_bytes, std::size_t{5} << 20);
}

struct TinyGroup {
  using Decoding = SplitDecoding<9>;
  static constexpr std::size_t kCageBytes = std::size_t{64} << 20;
};

TEST(HeapLimits, AFullCageIsAnErrorAndTheProgramGoesOn) {
  HeapOf<TinyGroup> heap = std::move(HeapOf<TinyGroup>::create().value());
  HeapOf<TinyGroup> other = std::move(HeapOf<TinyGroup>::create().value());
  Persistent<Link<TinyGroup>> all;
  const std::size_t made = fill(heap, all);
  EXPECT_GT(made, 55u << 10);
  EXPECT_EQ(make<Link<TinyGroup>>(other), nullptr);  // they share it
  all = nullptr;
  heap.collect(StackState::HoldsNone);
  heap.trim();
  EXPECT_NE(make<Link<TinyGroup>>(other), nullptr);
}

}  // namespace
}  // namespace tare::gc
