// A vertex beside its model: whether it says the same.
#pragma once

#include <set>
#include <stdexcept>

#include "graph_vertex.h"

namespace tare::inline TARE_ABI::gc::testing {

inline void demand(bool holds, const char* what) {
  if (!holds) throw std::logic_error(what);
}

// Of a vertex, or of the base of one that isn't first.
template <class T>
int number_of(const T* object) {
  if (object == nullptr) return kNobody;
  if constexpr (requires { object->number; }) {
    return object->number;
  } else {
    return object->number_aside;
  }
}

// Whether what the model doesn't reach may still be there: after a conservative collection, or none.
enum class Exactness : bool { AtLeast, Exactly };

template <class T>
void same(const T* object, int wanted) {
  demand(number_of(object) == wanted, "a pointer leads to another object");
}
// A weak one is null if its object has died, and notes it in the model.
template <class T>
void weakly_same(const T* object, int& wanted, const std::set<int>& expected, Exactness exactness) {
  const bool must_live = expected.contains(wanted);
  if (object == nullptr) {
    demand(!must_live, "a weak pointer to a living object is null");
    wanted = kNobody;
  } else {
    demand(number_of(object) == wanted, "a weak pointer leads to another object");
    demand(must_live || exactness == Exactness::AtLeast, "a weak pointer leads to a dead object");
  }
}

// An object beside its model; of what is weak the model learns who has died.
template <class Group>
void compare_one(const typename GraphTypes<Group>::Vertex& vertex, ModelVertex& model, const std::set<int>& expected,
                 Exactness exactness) {
  using Vertex = typename GraphTypes<Group>::Vertex;
  using FinalVertex = typename GraphTypes<Group>::FinalVertex;
  demand(vertex.kind == model.kind, "an object is of another type");
  if (vertex.kind == VertexKind::WithDestructor) {
    demand(*static_cast<const FinalVertex&>(vertex).copy == vertex.number, "an object's own memory has changed");
  }
  const auto weakly = [&](const auto* object, int& wanted) { weakly_same(object, wanted, expected, exactness); };
  for (std::size_t i = 0; i < vertex.strong.size(); ++i) same(vertex.strong[i].get(), model.strong[i]);
  same(vertex.same.get(), model.strong[0]);
  same(vertex.wide.get(), model.wide);
  same(vertex.tagged.get(), model.tagged);
  demand(vertex.tagged.tag() == model.tag, "a tag has changed");
  weakly(vertex.weak.get(), model.weak);
  weakly(vertex.key.get(), model.key);
  if (model.key != kNobody) same(vertex.value.get(), model.value);
  same(vertex.aside.get(), model.aside);
  same(vertex.wide_aside.get(), model.wide_aside);
  weakly(vertex.weak_aside.get(), model.weak_aside);
  same(vertex.maybe ? vertex.maybe->get() : nullptr, model.maybe);
  demand(vertex.either.index() == model.either.index(), "a variant holds something else");
  if (vertex.either.index() == 0) {
    demand(std::get<0>(vertex.either) == std::get<0>(model.either), "a number has changed");
  } else {
    same(std::get<1>(vertex.either).get(), std::get<1>(model.either));
  }
  demand(vertex.list.size() == model.list.size() && vertex.weak_list.size() == model.weak_list.size() &&
             vertex.queue.size() == model.queue.size() && vertex.by_strong.size() == model.by_strong.size(),
         "a container has another size");
  for (std::size_t i = 0; i < model.list.size(); ++i) same(vertex.list[i].get(), model.list[i]);
  for (std::size_t i = 0; i < model.weak_list.size(); ++i) weakly(vertex.weak_list[i].get(), model.weak_list[i]);
  for (std::size_t i = 0; i < model.queue.size(); ++i) same(vertex.queue[i].get(), model.queue[i]);
  vertex.by_strong.for_each([&](Vertex* key, const WeakMember<Vertex, Group>& value) {
    const auto entry = model.by_strong.find(key->number);
    demand(entry != model.by_strong.end(), "a map has another key");
    weakly(value.get(), entry->second);
  });
  const auto is_known = [&](bool is_there, int key) {
    demand(is_there, "a weak table has another key");
    demand(exactness == Exactness::AtLeast || expected.contains(key), "a weak table has a dead key");
  };
  std::set<int> keys;
  vertex.by_weak.for_each([&](Vertex* key, const Member<Vertex, Group>& value) {
    const auto entry = model.by_weak.find(key->number);
    is_known(entry != model.by_weak.end(), key->number);
    same(value.get(), entry->second);
    keys.insert(key->number);
  });
  std::set<int> watched;
  vertex.watched.for_each([&](Vertex* key) {
    is_known(model.watched.contains(key->number), key->number);
    watched.insert(key->number);
  });
  const auto drop = [&](int key, const std::set<int>& present) {
    demand(present.contains(key) || !expected.contains(key), "a weak table has lost a living key");
    return !present.contains(key);
  };
  std::erase_if(model.by_weak, [&](const auto& entry) { return drop(entry.first, keys); });
  std::erase_if(model.watched, [&](int key) { return drop(key, watched); });
}

}  // namespace tare::inline TARE_ABI::gc::testing
