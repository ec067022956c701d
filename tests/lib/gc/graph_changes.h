// What a random program does to its graph: takes pointers of any kind out of their places and puts them into others, in
// the heap and in the model.
#pragma once

#include <cstddef>
#include <utility>

#include "graph_world.h"
#include "tare/gc/explicit.h"

namespace tare::inline TARE_ABI::gc::testing {

template <class Group>
class GraphChanges : protected GraphWorld<Group> {
 protected:
  using World = GraphWorld<Group>;
  using typename World::Aside;
  using typename World::Vertex;
  using World::aside_of;
  using World::cross_;
  using World::cross_numbers_;
  using World::heap_;
  using World::kFewRooted;
  using World::kRoots;
  using World::made;
  using World::make_vertex;
  using World::model_of;
  using World::next_;
  using World::pick;
  using World::rooted_;
  using World::rooted_numbers_;
  using World::some;
  using World::strong_;
  using World::strong_numbers_;
  using World::weak_;
  using World::weak_cross_;
  using World::weak_cross_numbers_;
  using World::weak_numbers_;
  using World::whole;
  using World::World;

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
        from.either = Member<Vertex, Group>(to);
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
        from.tagged = TaggedMember<Vertex, 1, Group>(from.wide.get(), model.tag);
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
};

}  // namespace tare::inline TARE_ABI::gc::testing
