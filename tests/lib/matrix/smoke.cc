// Each part of the library at work, with no framework, for the matrix of compilers: what optimizers have broken before.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tare/arena.h"
#include "tare/atom_table.h"
#include "tare/buffer.h"
#include "tare/bytes.h"
#include "tare/compressed_ptr.h"
#include "tare/format.h"
#include "tare/gc/heap.h"
#include "tare/gc/heap_hash_table.h"
#include "tare/gc/heap_vector.h"
#include "tare/gc/located_persistent.h"
#include "tare/gc/make.h"
#include "tare/layout.h"
#include "tare/memory_reporter.h"
#include "tare/memory_snapshot.h"
#include "tare/ref_ptr.h"
#include "tare/static_atoms.h"
#include "tare/text_stream.h"
#include "tare/variant/convert.h"
#include "tare/variant/output.h"
#include "tare/variant/view.h"
#include "tare/variant/writer.h"

namespace {

void expect(bool is_right, const char* what) {
  if (is_right) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  std::exit(1);
}

inline constexpr std::string_view kNames[] = {"div", "span"};
inline constexpr auto& kTags = tare::static_atoms<kNames>;

void test_atoms() {
  tare::AtomTable table({.static_lists = {&kTags.list}});
  expect(table.intern("div") == kTags["div"], "a static atom");
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&table] {
      for (int i = 0; i < 5000; ++i) expect(bool(table.intern("atom " + std::to_string(i))), "an atom");
    });
  }
  for (std::thread& thread : threads) thread.join();
  table.gc();
  const tare::Atom atom = table.intern("held");
  const tare::Bytes bytes = tare::Bytes::adopt_shared(atom.share());
  expect(bytes == "held" && atom == "held", "an atom's characters");
}

void test_text() {
  tare::TextStream out;
  out << "x=" << 0.1 << ' ' << 12345 << ' ' << true << ' ' << 1e300;
  out.print(" %s %.2f %5d", "text", 2.675, 7);
  expect(out.view() == "x=0.1 12345 true 1e+300 text 2.67     7", "a line of text");
  char small[8];
  tare::FixedTextStream fixed(small);
  fixed << "longer than that";
  expect(fixed.view() == "longer " && !fixed.ok(), "a text that is cut");
}

void test_buffers() {
  tare::Buffer<std::string> texts;
  for (int i = 0; i < 1000; ++i) expect(texts.push_back(std::to_string(i)), "push_back");
  expect(texts.erase(texts.begin(), texts.begin() + 990) == texts.begin() && texts.front() == "990", "erase");
  tare::Arena arena;
  const std::string_view copy = arena.copy("copied");
  expect(copy == "copied", "an arena");
}

struct Counted : tare::RefCounted<Counted> {};

struct Node : tare::gc::GarbageCollected<Node> {
  explicit Node(int n) : number(n) {}
  void trace(tare::gc::Visitor& visitor) const {
    visitor.trace(next);
    visitor.trace(all);
    visitor.trace(by_key);
  }
  int number;
  tare::gc::Member<Node> next;
  tare::gc::HeapVector<tare::gc::Member<Node>> all;
  tare::gc::HeapHashMap<tare::gc::WeakMember<Node>, tare::gc::Member<Node>> by_key;
};

// The first heap of a group is made inside the loop, where optimizers would load its cage's base before.
void test_collector() {
  for (int round = 0; round < 3; ++round) {
    auto made = tare::gc::Heap::create();
    expect(bool(made), "a heap");
    tare::gc::Heap heap = *std::move(made);
    tare::gc::LocatedPersistent<Node> root = tare::gc::make<Node>(heap, -1);
    for (int i = 0; i < 20000; ++i) {
      Node* node = tare::gc::make<Node>(heap, i);
      if (i % 10 != 0) continue;
      expect(root->all.push_back(heap, node), "push_back");
      node->next = root.get();
      expect(root->by_key.insert(heap, node, node), "insert");
    }
    heap.collect(tare::gc::StackState::MayHoldPointers);
    heap.collect(tare::gc::StackState::HoldsNone);
    expect(root->all.size() == 2000 && root->by_key.size() == 2000, "what is held");
    long sum = 0;
    for (const auto& member : root->all) sum += member->number + member->next->number;
    expect(sum == 19990L * 1000 - 2000, "what is held is whole");
    expect(heap.use().live_objects < 2010, "what nobody holds is gone");
  }
}

struct Left {
  std::uint64_t left;
};
struct Right {
  std::uint64_t right;
};
struct Both : Left, Right {};
struct SomeTag {
  static constexpr std::size_t kGranuleBytes = 8;
};

void test_casts() {
  const auto both = tare::CompressedPtr<Both, SomeTag>::from_bits(1000);
  const tare::CompressedPtr<Right, SomeTag> right = both;
  expect(right.bits() == 1001 && tare::static_pointer_cast<Both>(right) == both, "a cast down");
}

void test_variant() {
  using namespace tare::variant;
  Output out;
  const auto written = Writer<"a{sv}">::write(out, std::pair("number", as<"u">(7U)), std::pair("text", as<"s">("x")));
  View view(Type("a{sv}"), written.bytes());
  expect(view.validate() && view.lookup("number")->as_uint32() == 7, "a value");
}

void test_reports() {
  tare::ReporterRegistry registry;
  const auto handle = registry.add("explicit/part", [](tare::ReportSink& sink) { sink.heap("bytes", 1234, ""); });
  expect(tare::to_text(registry.collect()).find("part") != std::string::npos, "a report");
}

}  // namespace

int main() {
  test_atoms();
  test_text();
  test_buffers();
  const tare::RefPtr<Counted> counted = tare::make_ref<Counted>();
  expect(tare::share_ref(counted.get()) == counted, "a reference");
  test_casts();
  test_collector();
  test_variant();
  test_reports();
}
