// A loop that makes the group's first heap in its first round, and looks at the heap's objects in each. Compilers may
// not load the cage's base before the loop.
#include <cstdio>
#include <optional>
#include <utility>

#include <tare/gc/heap.h>
#include <tare/gc/make.h>
#include <tare/gc/member.h>
#include <tare/gc/persistent.h>
#include <tare/gc/visitor.h>

namespace gc = tare::gc;

namespace {

template <class SomeDecoding>
struct Group {
  using Decoding = SomeDecoding;
  static constexpr std::size_t kCageBytes = std::size_t{1} << 30;
};

template <class Group>
struct Node : gc::GarbageCollected<Node<Group>, Group> {
  explicit Node(int n) : number(n) {}
  void trace(gc::Visitor& visitor) const { visitor.trace(next); }
  gc::Member<Node, Group> next;
  int number;
};

template <class Group>
struct World {
  std::optional<gc::HeapOf<Group>> heap;
  gc::Persistent<Node<Group>> root;
};

template <class Group>
int sum_of_rounds(int rounds) {
  World<Group> world;
  int sum = 0;
  for (int i = 0; i < rounds; ++i) {
    if (!world.heap) {
      world.heap.emplace(std::move(gc::HeapOf<Group>::create().value()));
      world.root = gc::make<Node<Group>>(*world.heap, 1);
      world.root->next = gc::make<Node<Group>>(*world.heap, 2);
    }
    sum += world.root->next->number;
  }
  return sum;
}

}  // namespace

int main(int count, char**) {
  const int sums[] = {sum_of_rounds<Group<gc::SplitDecoding<1>>>(3 + count),
                      sum_of_rounds<Group<gc::SeedDecoding<2>>>(3 + count), sum_of_rounds<gc::DefaultGroup>(3 + count)};
  std::printf("%d %d %d\n", sums[0], sums[1], sums[2]);
  return sums[0] == 8 && sums[1] == 8 && sums[2] == 8 ? 0 : 1;
}
