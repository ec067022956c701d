// A collected class of a header that both plug-ins include, with inline functions of which a process may take either's.
#pragma once

#include <cstddef>

#include <tare/gc/heap.h>
#include <tare/gc/heap_vector.h>
#include <tare/gc/make.h>
#include <tare/gc/member.h>
#include <tare/gc/persistent.h>
#include <tare/gc/visitor.h>

namespace plug_ins {

struct OldAndYoung {
  using Decoding = tare::gc::SplitDecoding<3>;
  static constexpr std::size_t kCageBytes = std::size_t{1} << 30;
  static constexpr tare::gc::WriteBarrier kWriteBarrier = tare::gc::WriteBarrier::Generational;
};

template <class Group>
struct Node : tare::gc::GarbageCollected<Node<Group>, Group> {
  tare::gc::Member<Node, Group> next;
  tare::gc::HeapVector<int, Group> numbers;
  int number = 0;

  explicit Node(int n) : number(n) {}
  void trace(tare::gc::Visitor& visitor) const {
    visitor.trace(next);
    visitor.trace(numbers);
  }
  [[gnu::noinline]] Node* after(int steps) {
    Node* at = this;
    for (; steps > 0; --steps) at = at->next.get();
    return at;
  }
  [[gnu::noinline]] void append(Node* node) { next = node; }
};

}  // namespace plug_ins
