// A program for the leak sanitizer: at its end a collected object, an element of a collected array and one in a cage
// hold what malloc gave. With an argument it leaks.
#include <cstdlib>
#include <new>
#include <string>
#include <utility>

#include <tare/cage.h>
#include <tare/gc/heap.h>
#include <tare/gc/heap_vector.h>
#include <tare/gc/make.h>
#include <tare/gc/persistent.h>
#include <tare/gc/visitor.h>

namespace gc = tare::gc;

namespace {

struct Text : gc::GarbageCollected<Text> {
  explicit Text(std::string characters) : text(std::move(characters)) {}
  void trace(gc::Visitor& visitor) const { visitor.trace(more); }
  std::string text;
  gc::HeapVector<std::string> more;
};

// Never destroyed.
gc::Heap& heap() {
  static auto* one = new gc::Heap(std::move(gc::Heap::create().value()));
  return *one;
}
gc::Persistent<Text>& root() {
  static auto* one = new gc::Persistent<Text>;
  return *one;
}

[[gnu::noinline]] bool fill() {
  root() = gc::make<Text>(heap(), std::string(1000, 'x'));
  return root() != nullptr && root()->more.push_back(heap(), std::string(2000, 'y'));
}

[[gnu::noinline]] bool fill_cage() {
  static auto* cage = new tare::Cage(std::move(tare::Cage::reserve().value()));
  const auto run = cage->allocate(4096);
  if (!run) return false;
  new (run.value().data) std::string(3000, 'z');
  return true;
}

[[gnu::noinline]] void leak() { static_cast<void>(*new volatile char[1234]); }

}  // namespace

int main(int count, char**) {
  if (!fill() || !fill_cage()) return 1;
  if (count > 1) leak();
  return 0;
}
