// Gives a host a copy of the library of its own, in use before any plug-in is there.
#include <cstdlib>

#include <tare/atom.h>
#include <tare/atom_table.h>

#include "shared_node.h"

namespace {

template <class Group>
bool makes_a_heap() {
  auto made = tare::gc::HeapOf<Group>::create();
  if (!made) return false;
  auto heap = std::move(made.value());
  tare::gc::Persistent<plug_ins::Node<Group>> node = tare::gc::make<plug_ins::Node<Group>>(heap, 1);
  heap.collect(tare::gc::StackState::HoldsNone);
  return node && node->number == 1;
}

[[gnu::constructor]] void use_the_library() {
  tare::AtomTable table;
  if (!makes_a_heap<tare::gc::DefaultGroup>() || !makes_a_heap<plug_ins::OldAndYoung>() ||
      table.intern("a text") != table.intern("a text")) {
    std::abort();
  }
}

}  // namespace
