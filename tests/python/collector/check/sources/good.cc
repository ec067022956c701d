// Code without findings of tare gc check. Never compiled into anything.
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "tare/gc/heap_deque.h"
#include "tare/gc/heap_hash_table.h"
#include "tare/gc/heap_vector.h"
#include "tare/gc/trace_std.h"

namespace gc = tare::gc;

class Node : public gc::GarbageCollected<Node> {
 public:
  void trace(gc::Visitor& visitor) const {
    visitor.trace(parent_);
    trace_children(visitor);
    visitor.trace_ephemeron(key_, value_);
    for (const gc::Member<Node>& link : links_) visitor.trace(link);
    visitor.trace(choice_);
    visitor.trace(both_);
    visitor.trace(some_);
  }

 private:
  void trace_children(gc::Visitor& visitor) const { visitor.trace(children_); }

  gc::Member<Node> parent_;
  gc::HeapVector<gc::Member<Node>> children_;
  gc::WeakMember<Node> key_;
  gc::Member<Node> value_;
  gc::Member<Node> links_[3];
  std::variant<int, gc::Member<Node>> choice_;
  std::pair<int, gc::Member<Node>> both_;
  std::array<std::optional<gc::Member<Node>>, 2> some_;
  gc::UntracedMember<Node> owner_;    // on purpose
  gc::WeakPersistent<Node> watched_;  // keeps nothing
  std::vector<int> numbers_;          // holds nothing collected
  std::function<void(Node*)> call_back_;
  void (*plain_)(Node*) = nullptr;
  gc::Heap* heap_ = nullptr;  // no object of a heap
  Node* known_ = nullptr;     // NOLINT(tare-gc-raw-pointer): the parent keeps it
  // NOLINTNEXTLINE(tare-gc-raw-pointer): and so it does this one
  Node* also_known_ = nullptr;
};

// A base without anything to trace needs no call.
class Value : public gc::GarbageCollected<Value> {
 public:
  void trace(gc::Visitor&) const {}
  int number = 0;
};
class Pair final : public Value {
 public:
  void trace(gc::Visitor& visitor) const {
    visitor.trace(first_);
    visitor.trace(second_);
  }

 private:
  gc::Member<Value> first_, second_;
};
// And without Members of its own, a class needs no trace() beside its base's.
class Counted final : public Node {
  int count_ = 0;
};

class Sealed final : public Node {
 public:
  void trace(gc::Visitor& visitor) const;

 private:
  gc::Member<Node> lid_;
};
void Sealed::trace(gc::Visitor& visitor) const {
  Node::trace(visitor);
  visitor.trace(lid_);
}

// Its trace() is defined in another file, where it is looked at.
class Elsewhere final : public gc::GarbageCollected<Elsewhere> {
 public:
  void trace(gc::Visitor& visitor) const;

 private:
  gc::Member<Node> there_;
};

// Not collected: on the stack plain pointers are right.
class Walk {
 public:
  explicit Walk(Node* at) : at_(at) {}
  Node* at() const { return at_; }

 private:
  Node* at_;
};
struct Window {
  gc::Persistent<Node> document;
  gc::RootedVector<gc::Member<Node>> selection;
  std::vector<gc::Persistent<Node>> history;
};
gc::Persistent<Node> global;
static std::unique_ptr<Window> window;

template <class T>
class Ring final : public gc::GarbageCollected<Ring<T>> {
 public:
  void trace(gc::Visitor& visitor) const {
    visitor.trace(next_);
    visitor.trace(value_);
  }

 private:
  gc::Member<Ring> next_;
  gc::Member<T> value_;
};
template class Ring<Node>;

Node* last_of(Node* node) {
  gc::Member<Node> local = node;  // on the stack for as long as the function runs
  return local;
}
