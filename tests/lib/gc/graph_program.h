// A random program of a collected heap beside a model of it: what the model reaches lives, with its contents, and after
// a precise collection of the whole heap nothing else does. Pointers of every kind are read, copied into every other
// kind and held on the stack, while the heap is collected at once, by steps or by another thread, and compacted; and
// its young objects alone, where the group has a young generation.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "graph_changes.h"

namespace tare::inline TARE_ABI::gc::testing {

template <class Group>
class GraphProgram : GraphChanges<Group> {
  using Changes = GraphChanges<Group>;
  using Changes::act;
  using Changes::aside_of;
  using Changes::choices_;
  using Changes::collect_young_perhaps;
  using Changes::cross_;
  using Changes::cross_numbers_;
  using Changes::drop_roots;
  using Changes::heap_;
  using Changes::kFewRooted;
  using Changes::kRoots;
  using Changes::locals_;
  using Changes::make_vertex;
  using Changes::marking_;
  using Changes::model_;
  using Changes::model_of;
  using Changes::pick;
  using Changes::rooted_;
  using Changes::rooted_numbers_;
  using Changes::set_strong;
  using Changes::some;
  using Changes::strong_;
  using Changes::strong_numbers_;
  using Changes::weak_;
  using Changes::weak_cross_;
  using Changes::weak_cross_numbers_;
  using Changes::weak_numbers_;
  using Changes::whole;
  using typename Changes::Aside;
  using typename Changes::FinalVertex;
  using typename Changes::PrefinalVertex;
  using typename Changes::Vertex;

 public:
  GraphProgram(GraphChoices& choices, Marking marking) : Changes(choices, marking) {}

  std::size_t compacted_bytes = 0;

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
      if (collect_young_perhaps(12, StackState::HoldsNone) && pick(8) == 0) compare({}, Exactness::AtLeast);
      if (pick(20) == 0) scatter();
      if (pick(60) == 0) {
        compact(StackState::HoldsNone);
        compare({}, Exactness::AtLeast);
      }
      if (pick(400) == 0) check();
    }
    fillers_.clear();
    check();
    drop_roots();
    check();
    heap_.finish_sweeping();
    demand(heap_.use().live_objects == 0 && FinalVertex::alive == 0 && PrefinalVertex::alive == 0, "something is left");
  }

 private:
  using Filler = VectorArray<int, Group>;
  static constexpr int kMostDepth = 3;
  static constexpr int kFewSteps = 20;
  static constexpr int kManySteps = 10'000;

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

  // A page of arrays, of a size that containers here have, until the heap is compacted: theirs lie in several pages
  // then.
  [[gnu::noinline]] void scatter() {
    constexpr std::size_t kCellBytes[] = {24, 32, 40, 48, 56, 72, 80, 88, 144};
    const std::size_t cell_bytes = kCellBytes[pick(std::size(kCellBytes))];
    const std::size_t bytes = cell_bytes - sizeof(CellHeader) - sizeof(Filler);
    for (std::size_t left = cell::kUnitBytes / cell_bytes; left > 0; --left) {
      fillers_.emplace_back(make<Filler>(heap_, AdditionalBytes(bytes), 0U));
      demand(fillers_.back().get() != nullptr, "no memory");
    }
  }

  [[gnu::noinline]] void compact(StackState stack) {
    fillers_.clear();
    compacted_bytes += heap_.compact(stack);
  }

  // Pointers that only this frame has, of several kinds, over some of the program's steps and a collection.
  [[gnu::noinline]] void hold(int depth) {
    Vertex* raw = some();
    Member<Vertex, Group> member = some();
    UntracedMember<Vertex, Group> untraced = some();
    UncompressedMember<Vertex, Group> wide = some();
    Member<Aside, Group> aside = aside_of(some());
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
    if (collect_young_perhaps(2, StackState::MayHoldPointers)) {
    } else if (pick(2) == 0) {
      heap_.collect(StackState::MayHoldPointers);
    } else if (pick(3) == 0) {
      compact(StackState::MayHoldPointers);
    } else {
      for (int steps = 0; !heap_.collect_some(1000 * pick(4), StackState::MayHoldPointers); ++steps) {
        if (steps == kManySteps) {
          demand(marking_ == Marking::Concurrent, "marking doesn't end");
          heap_.collect(StackState::MayHoldPointers);  // the other thread may not have had a turn
          break;
        }
        // Each step uses up choices: on a busy machine all were spent here, and the heap was never compacted.
        if (marking_ == Marking::Concurrent && steps > kFewSteps)
          std::this_thread::sleep_for(std::chrono::microseconds(100));
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
      compare_one<Group>(*vertex, model_of(vertex), expected, exactness);
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
      vertex->by_weak.for_each([&](Vertex* key, const Member<Vertex, Group>& value) {
        if (expected.contains(key->number)) see(value.get());
      });
      vertex->by_strong.for_each([&](Vertex* key, const auto&) { see(key); });
    }
    // Frames further out have locals of their own, which nobody has here.
    demand(found.size() == expected.size() || locals.size() < locals_.size(),
           "the model reaches what the heap doesn't");
  }

  std::vector<Persistent<Filler>> fillers_;
};

}  // namespace tare::inline TARE_ABI::gc::testing
