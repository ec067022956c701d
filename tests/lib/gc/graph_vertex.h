// What a random graph is made of: vertices that have one field of each kind of pointer.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <variant>

#include "graph_model.h"
#include "tare/gc/heap_deque.h"
#include "tare/gc/heap_hash_table.h"
#include "tare/gc/heap_vector.h"
#include "tare/gc/tagged_member.h"
#include "tare/gc/trace_std.h"

namespace tare::inline TARE_ABI::gc::testing {

// In heaps of a group.
template <class Group>
struct GraphTypes {
  // A base that isn't first.
  struct Aside : GarbageCollectedMixin {
    explicit Aside(int n) : number_aside(n) {}
    int number_aside;
  };

  struct Vertex : GarbageCollected<Vertex, Group> {
    Vertex(int n, VertexKind k) : number(n), kind(k) {}
    void trace(Visitor& visitor) const {
      visitor.trace(strong);
      visitor.trace(wide);
      visitor.trace(tagged);
      visitor.trace(weak);
      visitor.trace_ephemeron(key, value);
      visitor.trace(aside);
      visitor.trace(wide_aside);
      visitor.trace(weak_aside);
      visitor.trace(maybe);
      visitor.trace(either);
      visitor.trace(list);
      visitor.trace(weak_list);
      visitor.trace(queue);
      visitor.trace(by_weak);
      visitor.trace(by_strong);
      visitor.trace(watched);
    }
    int number;
    VertexKind kind;
    std::array<Member<Vertex, Group>, 3> strong;
    UntracedMember<Vertex, Group> same;  // as strong[0], which keeps it
    UncompressedMember<Vertex, Group> wide;
    TaggedMember<Vertex, 1, Group> tagged;
    WeakMember<Vertex, Group> weak;
    WeakMember<Vertex, Group> key;
    Member<Vertex, Group> value;
    Member<Aside, Group> aside;
    UncompressedMember<Aside, Group> wide_aside;
    WeakMember<Aside, Group> weak_aside;
    std::optional<Member<Vertex, Group>> maybe;
    std::variant<int, Member<Vertex, Group>> either;
    HeapVector<Member<Vertex, Group>, Group> list;
    HeapVector<WeakMember<Vertex, Group>, Group> weak_list;
    HeapDeque<Member<Vertex, Group>, Group> queue;
    HeapHashMap<WeakMember<Vertex, Group>, Member<Vertex, Group>, Group> by_weak;
    HeapHashMap<Member<Vertex, Group>, WeakMember<Vertex, Group>, Group> by_strong;
    HeapHashSet<WeakMember<Vertex, Group>, Group> watched;
  };

  struct BigVertex : Vertex {
    explicit BigVertex(int n) : Vertex(n, VertexKind::Big) {}
    char bytes[5000];
  };

  struct MixedVertex : Vertex, Aside {
    explicit MixedVertex(int n) : Vertex(n, VertexKind::Mixed), Aside(n) {}
  };

  struct FinalVertex : Vertex {
    explicit FinalVertex(int n) : Vertex(n, VertexKind::WithDestructor), copy(std::make_unique<int>(n)) { ++alive; }
    ~FinalVertex() { --alive; }
    std::unique_ptr<int> copy;
    static inline int alive = 0;
  };

  // What is dead is still whole, and all of what is alive.
  struct PrefinalVertex : Vertex {
    explicit PrefinalVertex(int n) : Vertex(n, VertexKind::WithPrefinalizer) { ++alive; }
    void prefinalize() {
      --alive;
      for (const Member<Vertex, Group>& edge : this->strong) {
        if (edge && edge->number < 0) throw std::logic_error("an object that was freed before its prefinalizer ran");
      }
    }
    static inline int alive = 0;
  };
};

}  // namespace tare::inline TARE_ABI::gc::testing
