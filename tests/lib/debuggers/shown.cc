// Variables of the library's types, for a debugger to look at in stop_here().
#include <cstdint>
#include <utility>

#include "tare/atom_table.h"
#include "tare/buffer.h"
#include "tare/bytes.h"
#include "tare/cage.h"
#include "tare/compressed_ptr.h"
#include "tare/gc/heap.h"
#include "tare/gc/heap_vector.h"
#include "tare/gc/make.h"
#include "tare/gc/persistent.h"
#include "tare/ref_ptr.h"
#include "tare/text_stream.h"
#include "tare/variant/view.h"

struct Style : tare::RefCounted<Style> {
  int weight = 700;
};
struct Node : tare::gc::GarbageCollected<Node> {
  explicit Node(int n) : number(n) {}
  void trace(tare::gc::Visitor& visitor) const {
    visitor.trace(next);
    visitor.trace(all);
  }
  int number;
  tare::gc::Member<Node> next;
  tare::gc::HeapVector<tare::gc::Member<Node>> all;
};

struct Rows {
  static constexpr std::size_t kGranuleBytes = 8;
};

[[gnu::noinline]] void stop_here() { asm volatile(""); }

int main() {
  tare::AtomTable table;
  const tare::Atom atom = table.intern("main-header");
  const tare::Atom null_atom;
  const tare::Bytes bytes = tare::Bytes::copy_of_text("some bytes");
  tare::TextStream stream;
  stream << "a line " << 7;
  tare::Buffer<int> buffer;
  if (!buffer.append_all({3, 1, 4})) return 1;
  const tare::RefPtr<Style> style = tare::make_ref<Style>();
  tare::gc::Heap heap = *tare::gc::Heap::create();
  const tare::gc::Persistent<Node> node = tare::gc::make<Node>(heap, 42);
  node->next = tare::gc::make<Node>(heap, 43);
  if (!node->all.push_back(heap, node.get())) return 1;
  const Node* object = node.get();
  auto cage = tare::Cage::reserve(tare::cage_options<Rows>());
  if (!cage || tare::CageBase<Rows>::bind(*cage) != tare::CageError::None) return 1;
  const auto run = cage->allocate(4096);
  if (!run) return 1;
  auto* const row = reinterpret_cast<std::uint64_t*>(run->data);
  *row = 77;
  const tare::CompressedPtr<std::uint64_t, Rows> compressed = row;
  const tare::CompressedPtr<std::uint64_t, Rows> nowhere;
  const tare::variant::View text_value("s", {"a value", 8});
  const std::uint32_t number = 4711;
  const tare::variant::View number_value("u", {reinterpret_cast<const char*>(&number), sizeof(number)});
  const tare::variant::View array_value("au", {reinterpret_cast<const char*>(&number), sizeof(number)});
  stop_here();
  return static_cast<int>(bytes.size() + stream.size() + buffer.size()) + (style ? 1 : 0) +
             (atom == null_atom ? 1 : 0) ==
         object->number;
}
