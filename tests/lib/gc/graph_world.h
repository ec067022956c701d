// A random program's heap beside a model of it: its vertices, what roots it has, and a way to some of them.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "graph_choices.h"
#include "graph_compare.h"
#include "graph_vertex.h"
#include "tare/gc/cross_thread_persistent.h"
#include "tare/gc/heap.h"
#include "tare/gc/make.h"
#include "tare/gc/persistent.h"

namespace tare::inline TARE_ABI::gc::testing {

template <class Group>
class GraphWorld {
 protected:
  using Types = GraphTypes<Group>;
  using Vertex = typename Types::Vertex;
  using Aside = typename Types::Aside;
  using BigVertex = typename Types::BigVertex;
  using MixedVertex = typename Types::MixedVertex;
  using FinalVertex = typename Types::FinalVertex;
  using PrefinalVertex = typename Types::PrefinalVertex;
  static constexpr bool kIsGenerational = kWriteBarrierOf<Group> == WriteBarrier::Generational;
  static constexpr std::size_t kRoots = 8;  // of each kind
  static constexpr std::size_t kFewRooted = 16;

  GraphWorld(GraphChoices& choices, Marking marking) : choices_(choices), marking_(marking) {
    HeapOptions options;
    options.marking = marking;
    options.pause_goal_ns = 0;
    options.least_growth_bytes = std::size_t{64} << 10;
    options.growth_percent = 50;
    options.young_bytes = std::size_t{16} << 10;
    options.verifies = true;
    CageResult<HeapOf<Group>> made = HeapOf<Group>::create(options);
    demand(static_cast<bool>(made), "no heap");
    heap_ = std::move(made.value());
  }

  struct SlowVertex : Vertex {
    SlowVertex(int n, const std::function<void(Vertex&)>& build) : Vertex(n, VertexKind::Plain) { build(*this); }
  };

  std::size_t pick(std::size_t n) { return choices_.pick(n); }
  // One time in so many, where there is a young generation.
  bool collect_young_perhaps([[maybe_unused]] std::size_t times, [[maybe_unused]] StackState stack) {
    if constexpr (kIsGenerational) {
      if (pick(times) == 0) return heap_.collect_young(stack);
    }
    return false;
  }

  template <class Container>
  auto& one_of(Container& container) {
    return container[pick(container.size())];
  }
  static Vertex* whole(Aside* aside) { return aside == nullptr ? nullptr : static_cast<MixedVertex*>(aside); }
  static Aside* aside_of(Vertex* vertex) {
    return vertex != nullptr && vertex->kind == VertexKind::Mixed ? static_cast<MixedVertex*>(vertex) : nullptr;
  }
  ModelVertex& model_of(const Vertex* vertex) { return model_.at(vertex->number); }

  Vertex* make_vertex() { return make_vertex(pick(12)); }
  Vertex* make_vertex(std::size_t kind) {
    const int number = next_++;
    ModelVertex& model = model_[number];
    switch (kind) {
      case 0:
        model.kind = VertexKind::Big;
        return made(make<BigVertex>(heap_, AdditionalBytes(pick(8) == 0 ? 40'000 : 0), number));
      case 1:
        model.kind = VertexKind::WithDestructor;
        return made(make<FinalVertex>(heap_, number));
      case 2:
        model.kind = VertexKind::WithPrefinalizer;
        return made(make<PrefinalVertex>(heap_, number));
      case 3:
      case 4:
      case 5:
      case 8:
        model.kind = VertexKind::Mixed;
        return made(make<MixedVertex>(heap_, number));
      case 11:
        return made(make<SlowVertex>(heap_, number, [&](Vertex& vertex) { build(vertex); }));
      default:
        return made(make<Vertex>(heap_, number, VertexKind::Plain));
    }
  }
  static Vertex* made(Vertex* vertex) {
    demand(vertex != nullptr, "no memory");
    return vertex;
  }
  // In a constructor: what it has stored so far is found.
  void build(Vertex& vertex) {
    const int number = next_++;
    model_[number] = {};
    vertex.strong[1] = made(make<Vertex>(heap_, number, VertexKind::Plain));
    model_of(&vertex).strong[1] = number;
    if (!collect_young_perhaps(2, StackState::MayHoldPointers)) {
      if (pick(2) == 0) {
        heap_.collect_some(pick(4) * 1000, StackState::MayHoldPointers);
      } else {
        heap_.collect(StackState::MayHoldPointers);
      }
    }
    demand(vertex.strong[1]->number == number, "a field of an object in construction points elsewhere");
  }

  // Some vertex, by a walk from a root over pointers of any kind; also over weak ones that nothing else leads to.
  Vertex* some() {
    Vertex* at = root();
    for (std::size_t steps = pick(6); at != nullptr && steps > 0; --steps) {
      Vertex* next = neighbour(*at);
      if (next == nullptr) break;
      at = next;
    }
    return at;
  }
  Vertex* root() {
    switch (pick(6)) {
      case 0:
        return one_of(weak_).get();
      case 1:
        return one_of(cross_).get();
      case 2:
        return one_of(weak_cross_).lock().get();
      case 3:
        return one_of(strong_).get();
      default:
        return rooted_.empty() ? nullptr : one_of(rooted_).get();
    }
  }
  template <class Table>
  Vertex* nth_of(const Table& table, std::size_t n) {
    const bool is_key = pick(2) == 0;
    Vertex* found = nullptr;
    table.for_each([&](Vertex* key, const auto& value) {
      if (n-- == 0) found = is_key ? key : value.get();
    });
    return found;
  }
  Vertex* neighbour(Vertex& at) {
    switch (pick(18)) {
      case 0:
        demand(at.same == at.strong[0], "an untraced pointer has changed");
        return at.same.get();
      case 1:
        return at.wide.get();
      case 2:
        return at.tagged.get();
      case 3:
        return at.weak.get();
      case 4:
        return at.key ? at.value.get() : nullptr;
      case 5:
        return whole(at.aside.get());
      case 6:
        return whole(at.wide_aside.get());
      case 7:
        return whole(at.weak_aside.get());
      case 8:
        return at.maybe ? at.maybe->get() : nullptr;
      case 9:
        return at.either.index() == 1 ? std::get<1>(at.either).get() : nullptr;
      case 10:
        return at.list.empty() ? nullptr : one_of(at.list).get();
      case 11:
        return at.weak_list.empty() ? nullptr : one_of(at.weak_list).get();
      case 12:
        return at.queue.empty() ? nullptr : one_of(at.queue).get();
      case 13:
        return at.by_weak.empty() ? nullptr : nth_of(at.by_weak, pick(at.by_weak.size()));
      case 14:
        return at.by_strong.empty() ? nullptr : nth_of(at.by_strong, pick(at.by_strong.size()));
      default:
        return one_of(at.strong).get();
    }
  }

  void drop_roots() {
    for (std::size_t i = 0; i < kRoots; ++i) {
      strong_[i] = nullptr;
      weak_[i].clear();
      cross_[i].clear();
      weak_cross_[i].clear();
      strong_numbers_[i] = weak_numbers_[i] = cross_numbers_[i] = weak_cross_numbers_[i] = kNobody;
    }
    rooted_.clear(heap_);
    rooted_numbers_.clear();
  }

  GraphChoices& choices_;
  const Marking marking_;
  HeapOf<Group> heap_;
  std::map<int, ModelVertex> model_;
  std::vector<Persistent<Vertex>> strong_{kRoots};
  std::vector<WeakPersistent<Vertex>> weak_{kRoots};
  std::vector<CrossThreadPersistent<Vertex>> cross_{kRoots};
  std::vector<WeakCrossThreadPersistent<Vertex>> weak_cross_{kRoots};
  RootedVector<Member<Vertex, Group>, Group> rooted_;
  std::vector<int> strong_numbers_ = std::vector<int>(kRoots, kNobody);
  std::vector<int> weak_numbers_ = strong_numbers_;
  std::vector<int> cross_numbers_ = strong_numbers_;
  std::vector<int> weak_cross_numbers_ = strong_numbers_;
  std::vector<int> rooted_numbers_;
  std::vector<int> locals_;
  int next_ = 0;
};

}  // namespace tare::inline TARE_ABI::gc::testing
