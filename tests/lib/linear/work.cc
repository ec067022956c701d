// Does one kind of work on an input of SIZE bytes that is meant to be hard: linear-work CASE SIZE. linear_test.py
// counts its instructions.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tare/atom_table.h"
#include "tare/buffer.h"
#include "tare/gc/heap.h"
#include "tare/gc/heap_hash_table.h"
#include "tare/gc/heap_map.h"
#include "tare/gc/make.h"
#include "tare/gc/persistent.h"
#include "tare/text_stream.h"
#include "tare/variant/dbus_message.h"
#include "tare/variant/output.h"
#include "tare/variant/text.h"
#include "tare/variant/view.h"

namespace {

using namespace tare;

// a(x x x ...) of 65 long member types, in a variant: half of the bytes are the type, the rest empty elements.
void check_long_types(std::size_t size) {
  constexpr std::size_t kMembers = 65;
  const std::string member = "a(" + std::string(size / 2 / kMembers, 'y') + ")";
  std::string type = "a(";
  for (std::size_t i = 0; i < kMembers; ++i) type += member;
  type += ")";
  const std::size_t count = size / 2 / (kMembers + 3);
  std::string bytes(count * (kMembers - 1), '\0');
  const std::size_t width = bytes.size() + count < 256 ? 1 : bytes.size() + 2 * count < 65536 ? 2 : 4;
  for (std::size_t i = 1; i <= count; ++i) {
    const std::size_t end = i * (kMembers - 1);
    bytes.append(reinterpret_cast<const char*>(&end), width);
  }
  bytes += '\0' + type;
  if (!variant::View(variant::Type("v"), bytes).is_normal()) std::abort();
}

// Offsets that overlap: each element claims all bytes.
void check_overlapping(std::size_t size) {
  std::string bytes(size, '\xff');
  static_cast<void>(variant::View(variant::Type("aas"), bytes).is_normal());
  std::size_t children = 0;
  for (const variant::View child : variant::View(variant::Type("aay"), bytes)) children += child.bytes().size() & 1;
  static_cast<void>(children);
}

void parse_nested_text(std::size_t size) {
  std::string text;
  for (text = "[(1, 'a', <{'k': <[1, 2]>}>)"; text.size() < size;) text += ", (1, 'b', <@mi just 3>)";
  variant::Output out;
  if (!variant::parse(out, text + "]")) std::abort();
}

void parse_text_in_error(std::size_t size) {
  variant::Output out;
  if (variant::parse(out, "[" + std::string(size, '[')) || variant::parse(out, std::string(size, '\''))) std::abort();
}

void parse_dbus_message(std::size_t size) {
  variant::DBusHeader header;
  header.serial = 1;
  header.path = "/";
  header.member = "Take";
  header.interface = "org.tare.Test";
  const std::vector<std::string_view> texts(size / 8, "xyz");
  variant::Output out;
  const variant::Written written = variant::write_dbus_message<"(as)">(out, header, texts);
  if (!written || !variant::DBusMessage::parse(written.bytes())) std::abort();
}

void intern_alike(std::size_t size) {
  AtomTable table;
  Buffer<Atom> held;
  std::string text(40, 'x');
  for (std::size_t i = 0; i < size / 48; ++i) {
    std::memcpy(text.data() + 16, &i, sizeof(i));  // where a hash might look last
    if (!held.push_back(table.intern(text))) std::abort();
  }
  held.clear();
  table.gc();
}

struct Node : gc::GarbageCollected<Node> {
  void trace(gc::Visitor& visitor) const { visitor.trace(next); }
  gc::Member<Node> next;
};
struct Pairs : gc::GarbageCollected<Pairs> {
  void trace(gc::Visitor& visitor) const { visitor.trace(map); }
  gc::HeapHashMap<gc::WeakMember<Node>, gc::Member<Node>> map;
};

// Each pair's value is the next one's key, found in the worst order, beside as many whose keys are dead.
void collect_ephemerons(std::size_t size) {
  gc::Heap heap = *gc::Heap::create({.collections = gc::Collections::ByHand});
  const gc::Persistent<Pairs> pairs = gc::make<Pairs>(heap);
  const gc::Persistent<Node> first = gc::make<Node>(heap);
  Node* key = first.get();
  for (std::size_t i = 0; i < size / 64; ++i) {
    Node* value = gc::make<Node>(heap);
    Node* dead = gc::make<Node>(heap);
    if (!pairs->map.insert(heap, key, value) || !pairs->map.insert(heap, dead, key)) std::abort();
    key = value;
  }
  heap.collect(gc::StackState::HoldsNone);
}

struct Numbers : gc::GarbageCollected<Numbers> {
  void trace(gc::Visitor& visitor) const { visitor.trace(map); }
  gc::HeapMap<std::uint64_t, int> map;
};
void fill_map(std::size_t size) {
  gc::Heap heap = *gc::Heap::create();
  const gc::Persistent<Numbers> numbers = gc::make<Numbers>(heap);
  for (std::uint64_t i = 0; i < size / 16; ++i) {
    if (!numbers->map.insert(heap, i << 40, 1)) std::abort();  // equal lower bits
  }
  for (std::uint64_t i = 0; i < size / 16; ++i) {
    if (!numbers->map.erase(i << 40)) std::abort();
  }
}

void append_bytes(std::size_t size) {
  TextStream text;
  Buffer<char> buffer;
  for (std::size_t i = 0; i < size; ++i) {
    if (!text.append('x') || !buffer.push_back('x')) std::abort();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string_view, void (*)(std::size_t)> cases{{"long_types", check_long_types},
                                                                {"overlapping", check_overlapping},
                                                                {"nested_text", parse_nested_text},
                                                                {"text_in_error", parse_text_in_error},
                                                                {"dbus_message", parse_dbus_message},
                                                                {"atoms_alike", intern_alike},
                                                                {"ephemerons", collect_ephemerons},
                                                                {"map", fill_map},
                                                                {"append", append_bytes}};
  if (argc == 1) {
    for (const auto& [name, work] : cases) std::printf("%.*s\n", static_cast<int>(name.size()), name.data());
    return 0;
  }
  if (argc != 3 || !cases.contains(argv[1])) return 2;
  cases.at(argv[1])(std::strtoull(argv[2], nullptr, 10));
}
