// A collected heap of 60,000 nodes, of which another order of fields would make smaller cells, and what points to them.
#include <cstdio>

#include "tare/gc/heap.h"
#include "tare/gc/heap_vector.h"
#include "tare/gc/make.h"
#include "tare/gc/member.h"
#include "tare/gc/visitor.h"

namespace {

struct Gapped : tare::gc::GarbageCollected<Gapped> {
  void trace(tare::gc::Visitor& visitor) const { visitor.trace(next); }
  char first = 0;
  long second = 0;
  char third = 0;
  tare::gc::Member<Gapped> next;
  long fourth = 0;
  char fifth = 0;
};

}  // namespace

int main() {
  tare::gc::Heap heap = std::move(tare::gc::Heap::create({}).value());
  tare::gc::RootedVector<tare::gc::Member<Gapped>> kept;
  if (!kept.reserve(heap, 60'000)) return 1;  // no array that is dropped: when those are found is a matter of the clock
  for (int i = 0; i < 60'000; ++i) {
    if (!kept.push_back(heap, tare::gc::make<Gapped>(heap))) return 1;
  }
  heap.collect(tare::gc::StackState::HoldsNone);
  std::printf("%zu\n", sizeof(Gapped));
}
