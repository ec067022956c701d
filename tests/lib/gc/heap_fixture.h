// A heap for a test, whose collections are checked.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tare/gc/heap.h"
#include "tare/gc/make.h"
#include "tare/gc/member.h"
#include "tare/gc/persistent.h"
#include "tare/gc/visitor.h"

namespace tare::gc::testing {

class HeapTest : public ::testing::Test {
 protected:
  HeapTest() { remake({}); }

  void remake(HeapOptions options) {
    options.verifies = true;
    heap_ = Heap();
    CageResult<Heap> made = Heap::create(options);
    if (!made) {
      ADD_FAILURE() << describe(made.error());
      std::abort();
    }
    heap_ = std::move(made.value());
  }

  void collect() { heap_.collect(StackState::HoldsNone); }
  std::size_t live() const { return heap_.use().live_objects; }
  template <class T, class... Arguments>
  T* make_one(Arguments&&... arguments) {
    return make<T>(heap_, std::forward<Arguments>(arguments)...);
  }

  Heap heap_;
};

// A node of three links.
struct Knot : GarbageCollected<Knot> {
  explicit Knot(int v = 0) : value(v) {}
  void trace(Visitor& visitor) const {
    visitor.trace(left);
    visitor.trace(right);
    visitor.trace(up);
  }
  Member<Knot> left, right, up;
  int value;
};
// As heaps report it: with the library's inline namespace, as the class lies in the library's namespace.
inline const std::string kKnotName(type_info_details::name_of<Knot>());

}  // namespace tare::gc::testing
