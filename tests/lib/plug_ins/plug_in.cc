// Compiled twice, with PLUG_IN a and b: a plug-in that has its own copy of the static library. 0, or the line of what
// was wrong.
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include <tare/arena.h>
#include <tare/atom.h>
#include <tare/atom_table.h>
#include <tare/cage.h>
#include <tare/text_stream.h>
#include <tare/variant/output.h>
#include <tare/variant/view.h>
#include <tare/variant/writer.h>

#include "shared_node.h"

namespace gc = tare::gc;

namespace {

#define EXPECT(condition) \
  if (!(condition)) return __LINE__

template <int kNumber>
struct OwnType : gc::GarbageCollected<OwnType<kNumber>> {
  void trace(gc::Visitor&) const {}
};

struct OwnNode : gc::GarbageCollected<OwnNode> {
  gc::Member<OwnType<1>> member;
  explicit OwnNode(gc::Heap& heap) : member(gc::make<OwnType<1>>(heap)) {}
  ~OwnNode() { was_destroyed = true; }
  void trace(gc::Visitor& visitor) const { visitor.trace(member); }
  static inline bool was_destroyed = false;
};

// So that the two plug-ins' types have different numbers.
int make_own_types(gc::Heap& heap) {
  EXPECT(gc::make<OwnType<1>>(heap) != nullptr);
#ifdef HAS_MORE_TYPES
  EXPECT(gc::make<OwnType<2>>(heap) != nullptr);
  EXPECT(gc::make<OwnType<3>>(heap) != nullptr);
#endif
  return 0;
}

template <class Group>
int keeps_what_is_alive(gc::HeapOf<Group>& heap) {
  using Node = plug_ins::Node<Group>;
  constexpr int kCount = 1000;
  gc::Persistent<Node> first = gc::make<Node>(heap, 0);
  EXPECT(first);
  for (int i = 1; i < kCount; ++i) {
    Node* last = first->after(i - 1);
    last->append(gc::make<Node>(heap, i));
    for (int j = 0; j < 10; ++j) EXPECT(last->numbers.push_back(heap, i + j));
    if (i % 100 == 0) heap.collect_some(1'000, gc::StackState::MayHoldPointers);  // the next stores are told
  }
  heap.collect(gc::StackState::HoldsNone);
  for (int i = 0; i < 5 * kCount; ++i) EXPECT(gc::make<Node>(heap, -1) != nullptr);
  EXPECT(gc::TypeOf<Node>::index() != 0 && gc::TypeOf<Node>::is_known());  // not looked up for each object
  if constexpr (gc::kWriteBarrierOf<Group> == gc::WriteBarrier::Generational) {
    first->after(kCount - 1)->append(gc::make<Node>(heap, kCount));  // into an old one
    heap.collect_young(gc::StackState::HoldsNone);
    for (int i = 0; i < 100; ++i) EXPECT(gc::make<Node>(heap, -1) != nullptr);
    EXPECT(first->after(kCount)->number == kCount);
  }
  for (int i = 0; i + 1 < kCount; ++i) {
    Node* node = first->after(i);
    EXPECT(node->number == i && node->numbers.size() == 10 && node->numbers[9] == i + 10);
  }
  return 0;
}

int atoms_are_found() {
  tare::AtomTable table;
  std::vector<tare::Atom> atoms;
  for (int i = 0; i < 2000; ++i) atoms.push_back(table.intern("text number " + std::to_string(i)));
  for (int i = 0; i < 2000; ++i) {
    const std::string text = "text number " + std::to_string(i);
    EXPECT(atoms[static_cast<std::size_t>(i)].text() == text);
    EXPECT(table.intern(text) == atoms[static_cast<std::size_t>(i)]);
  }
  return 0;
}

int memory_holds_its_contents() {
  tare::Arena arena({.first_chunk_bytes = 300});
  std::vector<int*> numbers;
  tare::TextStream text;
  std::string expected;
  for (int i = 0; i < 2000; ++i) {
    numbers.push_back(arena.make<int>(i));
    EXPECT(numbers.back() != nullptr);
    text << i << ' ';
    expected += std::to_string(i) + " ";
  }
  for (int i = 0; i < 2000; ++i) EXPECT(*numbers[static_cast<std::size_t>(i)] == i);
  EXPECT(text.view() == expected);
  return 0;
}

int values_are_read_as_written() {
  const std::vector<std::string> texts(200, "one of two hundred texts");
  tare::variant::Output out;
  for (int i = 0; i < 10; ++i) {
    const auto written = tare::variant::Writer<"as">::write(out, texts);
    EXPECT(!written.bytes().empty());
    const tare::variant::View view(tare::variant::Type("as"), written.bytes());
    EXPECT(view.child_count() == texts.size() && view.child(199).text() == texts[199]);
  }
  return 0;
}

int all_parts_work() {
  auto made = gc::Heap::create();
  auto young = gc::HeapOf<plug_ins::OldAndYoung>::create();
  EXPECT(made && young);
  gc::Heap heap = std::move(made.value());
  gc::HeapOf<plug_ins::OldAndYoung> young_heap = std::move(young.value());
  if (const int line = make_own_types(heap); line != 0) return line;
  if (const int line = keeps_what_is_alive(heap); line != 0) return line;
  if (const int line = keeps_what_is_alive(young_heap); line != 0) return line;
  if (const int line = memory_holds_its_contents(); line != 0) return line;
  if (const int line = values_are_read_as_written(); line != 0) return line;
  return atoms_are_found();
}

}  // namespace

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
extern "C" __attribute__((visibility("default"))) int PASTE(check_plug_in_, PLUG_IN)() {
  if (const int line = all_parts_work(); line != 0) return line;
  // Handlers of both copies run around a fork.
  const pid_t child = fork();
  if (child == 0) _exit(all_parts_work() == 0 ? 0 : 1);
  int status = 0;
  EXPECT(child > 0 && waitpid(child, &status, 0) == child && status == 0);
  return 0;
}

// In a heap of the program's: a list of two, of a class that only the plug-in has.
extern "C" __attribute__((visibility("default"))) void* PASTE(make_in_heap_, PLUG_IN)(void* heap) {
  return gc::make<OwnNode>(*static_cast<gc::Heap*>(heap), *static_cast<gc::Heap*>(heap));
}
