// tare/forward/gc.h: declares classes of the collector, for headers that only name them: see tare/forward/core.h.
#pragma once

#include "tare/version.h"

namespace tare::inline TARE_ABI::gc {

class HeapBase;
class Liveness;
class Visitor;
struct DefaultGroup;
template <class Group>
class HeapOf;
using Heap = HeapOf<DefaultGroup>;

}  // namespace tare::inline TARE_ABI::gc
