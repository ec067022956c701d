// What a random graph is made of: vertices that have one field of each kind of pointer, and the model of one, by
// numbers.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <variant>
#include <vector>

#include "tare/gc/heap_deque.h"
#include "tare/gc/heap_hash_table.h"
#include "tare/gc/heap_vector.h"
#include "tare/gc/tagged_member.h"
#include "tare/gc/trace_std.h"

namespace tare::gc::testing {

// A base that isn't first.
struct Aside : GarbageCollectedMixin {
  explicit Aside(int n) : number_aside(n) {}
  int number_aside;
};

enum class VertexKind : std::uint8_t { Plain, Big, Mixed, WithDestructor, WithPrefinalizer };

struct Vertex : GarbageCollected<Vertex> {
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
  std::array<Member<Vertex>, 3> strong;
  UntracedMember<Vertex> same;  // as strong[0], which keeps it
  UncompressedMember<Vertex> wide;
  TaggedMember<Vertex, 1> tagged;
  WeakMember<Vertex> weak;
  WeakMember<Vertex> key;
  Member<Vertex> value;
  Member<Aside> aside;
  UncompressedMember<Aside> wide_aside;
  WeakMember<Aside> weak_aside;
  std::optional<Member<Vertex>> maybe;
  std::variant<int, Member<Vertex>> either;
  HeapVector<Member<Vertex>> list;
  HeapVector<WeakMember<Vertex>> weak_list;
  HeapDeque<Member<Vertex>> queue;
  HeapHashMap<WeakMember<Vertex>, Member<Vertex>> by_weak;
  HeapHashMap<Member<Vertex>, WeakMember<Vertex>> by_strong;
  HeapHashSet<WeakMember<Vertex>> watched;
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
    for (const Member<Vertex>& edge : strong) {
      if (edge && edge->number < 0) throw std::logic_error("an object that was freed before its prefinalizer ran");
    }
  }
  static inline int alive = 0;
};

inline constexpr int kNobody = -1;

struct ModelVertex {
  VertexKind kind = VertexKind::Plain;
  std::array<int, 3> strong{kNobody, kNobody, kNobody};
  int wide = kNobody;
  int tagged = kNobody;
  std::uint32_t tag = 0;
  int weak = kNobody;
  int key = kNobody;
  int value = kNobody;
  int aside = kNobody;
  int wide_aside = kNobody;
  int weak_aside = kNobody;
  int maybe = kNobody;
  std::variant<int, int> either{std::in_place_index<0>, 0};  // a number; or a vertex'
  std::vector<int> list;
  std::vector<int> weak_list;
  std::deque<int> queue;
  std::map<int, int> by_weak;
  std::map<int, int> by_strong;
  std::set<int> watched;

  // What it keeps without asking who else lives.
  template <class See>
  void for_each_kept(See&& see) const {
    for (const int edge : strong) see(edge);
    for (const int edge : {wide, tagged, aside, wide_aside, maybe}) see(edge);
    if (either.index() == 1) see(std::get<1>(either));
    for (const int edge : list) see(edge);
    for (const int edge : queue) see(edge);
    for (const auto& [from, to] : by_strong) see(from);
  }
  // key, and what it keeps while it lives.
  template <class See>
  void for_each_ephemeron(See&& see) const {
    if (key != kNobody) see(key, value);
    for (const auto& [from, to] : by_weak) see(from, to);
  }
};

}  // namespace tare::gc::testing
