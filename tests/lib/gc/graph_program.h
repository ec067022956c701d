// A random program of a collected heap beside a model of it: what the model reaches lives, with its contents, and after
// a precise collection nothing else does. Pointers of every kind are read, copied into every other kind and held on the
// stack, while the heap is collected at once, by steps or by another thread.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graph_compare.h"
#include "graph_vertex.h"
#include "tare/gc/cross_thread_persistent.h"
#include "tare/gc/explicit.h"

namespace tare::gc::testing {

// Where a program's decisions come from.
class GraphChoices {
 public:
  virtual ~GraphChoices() = default;
  virtual std::size_t pick(std::size_t n) = 0;  // below n; 0 once it is over
  virtual bool is_over() const = 0;
};

class GraphProgram {
 public:
  GraphProgram(GraphChoices& choices, Marking marking) : choices_(choices), marking_(marking) {
    HeapOptions options;
    options.marking = marking;
    options.pause_goal_ns = 0;
    options.least_growth_bytes = std::size_t{64} << 10;
    options.growth_percent = 50;
    options.verifies = true;
    CageResult<Heap> made = Heap::create(options);
    demand(static_cast<bool>(made), "no heap");
    heap_ = std::move(made.value());
  }

  // Throws a std::logic_error where heap and model disagree.
  void run() {
    while (!choices_.is_over()) {
      if (rooted_.size() < kFewRooted) plant();
      if (pick(40) == 0) {
        hold(0);
      } else {
        act();
      }
      if (pick(8) == 0) heap_.collect_some(pick(2) * 500, StackState::HoldsNone);
      if (pick(400) == 0) check();
    }
    check();
    drop_roots();
    check();
    heap_.finish_sweeping();
    demand(heap_.use().live_objects == 0 && FinalVertex::alive == 0 && PrefinalVertex::alive == 0, "something is left");
  }

 private:
  static constexpr std::size_t kRoots = 8;  // of each kind
  static constexpr std::size_t kFewRooted = 16;
  static constexpr int kMostDepth = 3;
  static constexpr int kManySteps = 10'000;

  struct SlowVertex : Vertex {
    SlowVertex(int n, const std::function<void(Vertex&)>& build) : Vertex(n, VertexKind::Plain) { build(*this); }
  };

  std::size_t pick(std::size_t n) { return choices_.pick(n); }
  template <class Container>
  auto& one_of(Container& container) {
    return container[pick(container.size())];
  }
  static Vertex* whole(Aside* aside) { return aside == nullptr ? nullptr : static_cast<MixedVertex*>(aside); }
  static Aside* aside_of(Vertex* vertex) {
    return vertex != nullptr && vertex->kind == VertexKind::Mixed ? static_cast<MixedVertex*>(vertex) : nullptr;
  }
  ModelVertex& model_of(const Vertex* vertex) { return model_.at(vertex->number); }

  // So many that marking takes several steps, with a good deal of the program between them.
  void plant() {
    constexpr std::size_t kSizes[] = {400, kFewRooted, 150};
    for (std::size_t left = kSizes[pick(3)]; left > 0; --left) {
      Vertex* vertex = make_vertex(7 + left % 3);
      demand(rooted_.push_back(heap_, vertex), "no memory");
      rooted_numbers_.push_back(vertex->number);
      for (std::size_t edge = left % 4; edge-- > 0;) {
        Vertex* child = make_vertex(5 + left % 6);
        set_strong(*vertex, model_of(vertex), edge, child, child->number);
      }
    }
  }

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
    if (pick(2) == 0) {
      heap_.collect_some(pick(4) * 1000, StackState::MayHoldPointers);
    } else {
      heap_.collect(StackState::MayHoldPointers);
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

  [[gnu::noinline]] void act() {
    Vertex* from = some();
    Vertex* to = nullptr;
    switch (pick(4)) {
      case 0:
        to = some();
        break;
      case 1:
        to = make_vertex();
        break;
      default:
        if (Vertex* holder = some(); holder != nullptr) to = take(*holder, model_of(holder));
        break;
    }
    if (from == nullptr || pick(8) == 0) {
      change_root(to);
    } else if (pick(3) == 0) {
      // Mostly the same few, so that their containers grow.
      if (rooted_.size() > kFewRooted && pick(8) != 0 && rooted_[0]) from = rooted_[0].get();
      change_container(*from, model_of(from), to);
    } else {
      change_field(*from, model_of(from), to);
    }
  }

  // A pointer out of its place, of which it may have been the only one.
  [[gnu::noinline]] Vertex* take(Vertex& holder, ModelVertex& model) {
    Vertex* taken = nullptr;
    switch (pick(10)) {
      case 0:
        taken = holder.wide.get();
        holder.wide.clear();
        model.wide = kNobody;
        break;
      case 1:
        taken = holder.tagged.get();
        holder.tagged.clear();
        model.tagged = kNobody;
        model.tag = 0;
        break;
      case 2:
        taken = whole(holder.aside.release());
        model.aside = kNobody;
        break;
      case 3:
        taken = whole(holder.wide_aside.get());
        holder.wide_aside = nullptr;
        model.wide_aside = kNobody;
        break;
      case 4:
        if (!holder.maybe) break;
        taken = holder.maybe->get();
        holder.maybe.reset();
        model.maybe = kNobody;
        break;
      case 5:
        if (holder.list.empty()) break;
        taken = holder.list.back().get();
        holder.list.pop_back();
        model.list.pop_back();
        break;
      case 6:
        if (holder.queue.empty()) break;
        taken = holder.queue.take_back().get();
        model.queue.pop_back();
        break;
      case 7:
        if (holder.either.index() == 0) break;
        taken = std::get<1>(holder.either).get();
        holder.either = 7;
        model.either.emplace<0>(7);
        break;
      default: {
        const std::size_t edge = pick(3);
        taken = holder.strong[edge].release();
        model.strong[edge] = kNobody;
        holder.same = holder.strong[0];
        break;
      }
    }
    return taken;
  }

  [[gnu::noinline]] void change_root(Vertex* to) {
    const std::size_t at = pick(kRoots);
    const std::size_t other = pick(kRoots);
    switch (pick(12)) {
      case 0:
        weak_[at] = to;
        weak_numbers_[at] = number_of(to);
        break;
      case 1:
        cross_[at] = to;
        cross_numbers_[at] = number_of(to);
        break;
      case 2:
        weak_cross_[at] = to;
        weak_cross_numbers_[at] = number_of(to);
        break;
      case 3:
        demand(rooted_.push_back(heap_, to), "no memory");
        rooted_numbers_.push_back(number_of(to));
        break;
      case 4:
        std::swap(strong_[at], strong_[other]);
        std::swap(strong_numbers_[at], strong_numbers_[other]);
        break;
      case 5:
        if (at == other) break;
        strong_[at] = std::move(strong_[other]);
        strong_numbers_[at] = std::exchange(strong_numbers_[other], kNobody);
        break;
      case 6:
        strong_[at] = Persistent<Vertex>(weak_[other]);
        strong_numbers_[at] = number_of(strong_[at].get());
        break;
      case 7:
        cross_[at] = weak_cross_[other].lock();
        cross_numbers_[at] = number_of(cross_[at].get());
        break;
      case 8:
        if (at == other) break;
        cross_[at] = std::move(cross_[other]);
        cross_numbers_[at] = std::exchange(cross_numbers_[other], kNobody);
        break;
      default:
        strong_[at] = to;
        strong_numbers_[at] = number_of(to);
        break;
    }
  }

  [[gnu::noinline]] void change_field(Vertex& from, ModelVertex& model, Vertex* to) {
    const int number = number_of(to);
    const std::size_t edge = pick(3);
    switch (pick(2) == 0 ? pick(11) : pick(22)) {
      case 0:
        from.wide = to;
        model.wide = number;
        break;
      case 1:
        model.tag = static_cast<std::uint32_t>(pick(2));
        from.tagged.set(to, model.tag);
        model.tagged = number;
        break;
      case 2:
        from.weak = to;
        model.weak = number;
        break;
      case 3: {
        Vertex* value = make_vertex();
        from.key = to;
        from.value = value;
        model.key = number;
        model.value = value->number;
        break;
      }
      case 4:
      case 5: {
        Aside* aside = aside_of(to);
        from.aside = aside;
        model.aside = number_of(aside);
        break;
      }
      case 6: {
        Aside* aside = aside_of(to);
        from.wide_aside = aside;
        model.wide_aside = number_of(aside);
        break;
      }
      case 7: {
        Aside* aside = aside_of(to);
        from.weak_aside = aside;
        model.weak_aside = number_of(aside);
        break;
      }
      case 8:
        from.maybe.reset();
        if (to != nullptr) from.maybe.emplace(to);
        model.maybe = number;
        break;
      case 9:
        from.either = Member<Vertex>(to);
        model.either.emplace<1>(number);
        break;
      case 10:
        from.either = static_cast<int>(pick(128)) * 0x1010101;
        model.either.emplace<0>(std::get<0>(from.either));
        break;
      case 11: {
        const std::size_t other_edge = pick(3);
        Vertex* other = to == nullptr ? &from : to;
        from.strong[edge].swap(other->strong[other_edge]);
        std::swap(model.strong[edge], model_of(other).strong[other_edge]);
        from.same = from.strong[0];
        other->same = other->strong[0];
        break;
      }
      // From one kind into another.
      case 12:
        set_strong(from, model, edge, from.weak, number_of(from.weak.get()));
        break;
      case 13:
        set_strong(from, model, edge, from.same, model.strong[0]);
        break;
      case 14:
        set_strong(from, model, edge, from.tagged.member(), model.tagged);
        break;
      case 15:
        from.wide = from.strong[edge];
        model.wide = model.strong[edge];
        break;
      case 16:
        from.tagged = TaggedMember<Vertex, 1>(from.wide.get(), model.tag);
        model.tagged = model.wide;
        break;
      case 17:
        from.wide_aside = from.aside;
        model.wide_aside = model.aside;
        break;
      case 18:
        from.strong[edge] = nullptr;
        model.strong[edge] = kNobody;
        from.same = from.strong[0];
        break;
      default:
        set_strong(from, model, edge, to, number);
        break;
    }
  }
  template <class Pointer>
  static void set_strong(Vertex& from, ModelVertex& model, std::size_t edge, const Pointer& to, int number) {
    from.strong[edge] = to;
    model.strong[edge] = number;
    from.same = from.strong[0];
  }

  [[gnu::noinline]] void change_container(Vertex& from, ModelVertex& model, Vertex* to) {
    const int number = number_of(to);
    switch (pick(13)) {
      case 0:
        if (model.list.empty()) break;
        from.list.erase(0);
        model.list.erase(model.list.begin());
        break;
      case 1:
        demand(from.list.shrink_to_fit(heap_), "no memory");
        break;
      case 2:
        demand(from.weak_list.push_back(heap_, to), "no memory");
        model.weak_list.push_back(number);
        if (model.weak_list.size() > 12) {
          from.weak_list.truncate(3);
          model.weak_list.resize(3);
        }
        break;
      case 3:
        demand(from.queue.push_back(heap_, to), "no memory");
        model.queue.push_back(number);
        break;
      case 4:
        demand(from.queue.push_front(heap_, to), "no memory");
        model.queue.push_front(number);
        break;
      case 5:
        if (model.queue.empty()) break;
        demand(number_of(from.queue.take_front().get()) == model.queue.front(), "a queue's first is another");
        model.queue.pop_front();
        break;
      case 6:
      case 7: {
        if (to == nullptr) break;
        Vertex* value = pick(2) == 0 ? &from : make_vertex();
        demand(from.by_weak.insert(heap_, to, value), "no memory");
        model.by_weak[number] = value->number;
        break;
      }
      case 8: {
        if (to == nullptr) break;
        Vertex* value = make_vertex();
        demand(from.by_strong.insert(heap_, to, value), "no memory");
        model.by_strong[number] = value->number;
        break;
      }
      case 9:
        if (to == nullptr) break;
        demand(from.by_strong.erase(to) == (model.by_strong.erase(number) != 0), "an entry is there, or isn't");
        from.by_weak.erase(to);
        model.by_weak.erase(number);
        break;
      case 10:
        if (to == nullptr) break;
        demand(from.watched.insert(heap_, to), "no memory");
        model.watched.insert(number);
        break;
      case 11: {
        // Nobody has seen it.
        Vertex* lone = made(make<Vertex>(heap_, next_++, VertexKind::Plain));
        free_unreferenced(heap_, lone);
        break;
      }
      default:
        if (model.list.size() == 20) {
          from.list.clear(heap_);
          model.list.clear();
        }
        demand(from.list.push_back(heap_, to), "no memory");
        model.list.push_back(number);
        break;
    }
  }

  // Pointers that only this frame has, of several kinds, over some of the program's steps and a collection.
  [[gnu::noinline]] void hold(int depth) {
    Vertex* raw = some();
    Member<Vertex> member = some();
    UntracedMember<Vertex> untraced = some();
    UncompressedMember<Vertex> wide = some();
    Member<Aside> aside = aside_of(some());
    Aside* raw_aside = aside_of(some());
    const std::size_t locals = locals_.size();
    locals_.push_back(number_of(raw));
    locals_.push_back(number_of(member.get()));
    locals_.push_back(number_of(untraced.get()));
    locals_.push_back(number_of(wide.get()));
    locals_.push_back(number_of(aside.get()));
    locals_.push_back(number_of(raw_aside));
    if (pick(24) == 0) drop_roots();
    for (std::size_t steps = pick(30); steps > 0; --steps) {
      if (depth < kMostDepth && pick(10) == 0) {
        hold(depth + 1);
      } else {
        act();
      }
    }
    if (pick(2) == 0) {
      heap_.collect(StackState::MayHoldPointers);
    } else {
      for (int steps = 0; !heap_.collect_some(1000 * pick(4), StackState::MayHoldPointers); ++steps) {
        if (steps == kManySteps) {
          demand(marking_ == Marking::Concurrent, "marking doesn't end");
          heap_.collect(StackState::MayHoldPointers);  // the other thread may not have had a turn
          break;
        }
        if (pick(2) == 0) act();
      }
    }
    demand(number_of(raw) == locals_[locals] && number_of(member.get()) == locals_[locals + 1] &&
               number_of(untraced.get()) == locals_[locals + 2] && number_of(wide.get()) == locals_[locals + 3] &&
               number_of(aside.get()) == locals_[locals + 4] && number_of(raw_aside) == locals_[locals + 5],
           "a pointer on the stack leads to another object");
    compare({raw, member.get(), untraced.get(), wide.get(), whole(aside.get()), whole(raw_aside)}, Exactness::AtLeast);
    locals_.resize(locals);
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

  std::set<int> reachable() const {
    std::set<int> seen;
    std::vector<int> open;
    const auto see = [&](int number) {
      if (number != kNobody && seen.insert(number).second) open.push_back(number);
    };
    for (const auto* numbers : {&strong_numbers_, &cross_numbers_, &rooted_numbers_, &locals_}) {
      for (const int number : *numbers) see(number);
    }
    for (bool is_more = true; is_more;) {
      while (!open.empty()) {
        const ModelVertex& model = model_.at(open.back());
        open.pop_back();
        model.for_each_kept(see);
      }
      for (const int number : std::set<int>(seen)) {
        model_.at(number).for_each_ephemeron([&](int key, int value) {
          if (seen.contains(key)) see(value);
        });
      }
      is_more = !open.empty();
    }
    return seen;
  }

  // Without the arrays behind their containers.
  std::size_t vertices() {
    heap_.finish_sweeping();
    std::size_t sum = 0;
    heap_.for_each_type([&](const TypeUse& type) { sum += type.name.ends_with("Vertex") ? type.objects : 0; });
    return sum;
  }

  // Precisely: where no frame has a pointer.
  [[gnu::noinline]] void check() {
    heap_.collect(StackState::HoldsNone);
    const std::set<int> expected = reachable();
    demand(vertices() == expected.size(), "other objects live than the model reaches");
    compare({}, Exactness::Exactly);
    std::erase_if(model_, [&](const auto& entry) { return !expected.contains(entry.first); });
  }

  // Everything that the model reaches, from roots and from `locals`.
  [[gnu::noinline]] void compare(const std::vector<Vertex*>& locals, Exactness exactness) {
    const std::set<int> expected = reachable();
    std::map<int, const Vertex*> found;
    std::vector<const Vertex*> open;
    const auto see = [&](const Vertex* vertex) {
      if (vertex != nullptr && found.emplace(vertex->number, vertex).second) open.push_back(vertex);
    };
    for (const Vertex* local : locals) see(local);
    for (std::size_t i = 0; i < kRoots; ++i) {
      same(strong_[i].get(), strong_numbers_[i]);
      same(cross_[i].get(), cross_numbers_[i]);
      weakly_same(weak_[i].get(), weak_numbers_[i], expected, exactness);
      weakly_same(weak_cross_[i].lock().get(), weak_cross_numbers_[i], expected, exactness);
      see(strong_[i].get());
      see(cross_[i].get());
    }
    demand(rooted_.size() == rooted_numbers_.size(), "a rooted vector has another size");
    for (std::size_t i = 0; i < rooted_.size(); ++i) {
      same(rooted_[i].get(), rooted_numbers_[i]);
      see(rooted_[i].get());
    }
    while (!open.empty()) {
      const Vertex* vertex = open.back();
      open.pop_back();
      demand(expected.contains(vertex->number), "the heap reaches what the model doesn't");
      compare_one(*vertex, model_of(vertex), expected, exactness);
      for (const auto& edge : vertex->strong) see(edge.get());
      see(vertex->wide.get());
      see(vertex->tagged.get());
      see(whole(vertex->aside.get()));
      see(whole(vertex->wide_aside.get()));
      if (vertex->key && expected.contains(vertex->key->number)) see(vertex->value.get());
      if (vertex->maybe) see(vertex->maybe->get());
      if (vertex->either.index() == 1) see(std::get<1>(vertex->either).get());
      for (const auto& edge : vertex->list) see(edge.get());
      for (std::size_t i = 0; i < vertex->queue.size(); ++i) see(vertex->queue[i].get());
      vertex->by_weak.for_each([&](Vertex* key, const Member<Vertex>& value) {
        if (expected.contains(key->number)) see(value.get());
      });
      vertex->by_strong.for_each([&](Vertex* key, const auto&) { see(key); });
    }
    // Frames further out have locals of their own, which nobody has here.
    demand(found.size() == expected.size() || locals.size() < locals_.size(),
           "the model reaches what the heap doesn't");
  }

  GraphChoices& choices_;
  const Marking marking_;
  Heap heap_;
  std::map<int, ModelVertex> model_;
  std::vector<Persistent<Vertex>> strong_{kRoots};
  std::vector<WeakPersistent<Vertex>> weak_{kRoots};
  std::vector<CrossThreadPersistent<Vertex>> cross_{kRoots};
  std::vector<WeakCrossThreadPersistent<Vertex>> weak_cross_{kRoots};
  RootedVector<Member<Vertex>> rooted_;
  std::vector<int> strong_numbers_ = std::vector<int>(kRoots, kNobody);
  std::vector<int> weak_numbers_ = strong_numbers_;
  std::vector<int> cross_numbers_ = strong_numbers_;
  std::vector<int> weak_cross_numbers_ = strong_numbers_;
  std::vector<int> rooted_numbers_;
  std::vector<int> locals_;
  int next_ = 0;
};

}  // namespace tare::gc::testing
