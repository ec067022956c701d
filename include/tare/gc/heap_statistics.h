// tare/gc/heap_statistics.h: a heap's figures as JSON: its use, its cage's, its types and its cells by size.
//
//   std::fputs(tare::gc::to_json(heap).c_str(), stderr);
//
// {"version": 1,
//  "use": {"page_bytes", "pooled_bytes", "discarded_bytes", "live_bytes", "live_objects", "allocated_bytes",
//          "limit_bytes", "collections", "young_collections", "last_pause_ns", "last_stack_roots", "pauses",
//          "paused_ns", "longest_pause_ns", "remembered_objects", "remembered_parts", "is_marking"},
//  "cage": {"wanted_bytes", "reserved_bytes", "committed_bytes", "used_bytes", "kept_bytes", "largest_free_bytes",
//           "books_bytes"},
//  "types": [{"name", "objects", "cell_bytes"}, ...],            // most bytes first
//  "sizes": [{"cell_bytes", "pages", "page_bytes", "discarded_bytes", "cells", "objects"}, ...]}
//
// Of large objects "cell_bytes" is 0.
//
// As the members of HeapUse, CageUse and TypeUse; objects are counted with the dead that weren't found yet. Cells in
// "sizes" without objects are free, or were never used: the fragmentation after collections.
//
// Thread-safety: the heap's thread. Walks the heap, 5 ns an object; allocates by malloc.
#pragma once

#include <string>

#include "tare/gc/heap.h"
#include "tare/internal/export.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::gc {

TARE_API std::string to_json(const HeapBase& heap);

}  // namespace tare::inline TARE_ABI::gc
