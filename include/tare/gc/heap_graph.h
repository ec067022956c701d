// tare/gc/heap_graph.h: writes a heap's objects and their references to a file for `tare gc graph`.
//
//   if (tare::gc::write_graph(heap, "app.tgg", tare::gc::StackState::HoldsNone) != tare::gc::GraphError::None) complain();
//
//   $ tare gc graph app.tgg            types by the bytes they keep alive, the largest keepers, and their owners
//
// The file, all numbers little-endian, the header's 64 bytes first:
//   "TAREGCG1"                8 characters
//   u64 nodes, edges, roots, types, name_bytes                how many of each
//   u64 taken_ns              since 1970
//   u64 places                lines of the source that made roots which say it (tare/gc/located_persistent.h)
//   u32 type_of[nodes]        index of its type
//   u32 granule_of[nodes]     where it lies, in 8 bytes from the cage's origin: rising, so that two snapshots compare
//   u64 bytes_of[nodes]       its cell, header and slop included
//   u32 name_end[types]       ends of the types' names in the names
//   char names[name_bytes]    UTF-8, without NULs between; then up to 7 zeros, to a multiple of 8
//   u32 root_of[roots]        objects that Persistents point to, bit 31 set for CrossThreadPersistents
//   u32 edge_end[nodes]       ends of the nodes' edges in the edges
//   u32 edge_to[edges]        objects that Members point to; of ephemerons, from key to value
// and if there are places, to the end of the file:
//   u32 place_of[roots]       index of the place where the root was made; 0xffffffff: it doesn't say
//   u32 line_of[places]       from 1
//   u32 text_end[2 * places]  ends, in the texts, of each place's file and of its function
//   char texts[]              UTF-8, without NULs between
// Objects that no root reaches were on the stack, or in an object under construction.
//
// The heap is collected first. The file is written as objects are walked: 12 bytes an object of memory are needed
// beside the heap, and about 100 ns an object and 10 an edge.
//
// Thread-safety: the heap's thread.
#pragma once

#include "tare/gc/heap.h"
#include "tare/internal/export.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::gc {

enum class GraphError : std::uint8_t {
  None,
  CannotCollect,  // in a NoCollectionScope, or from a destructor or call-back of the collector's
  CannotOpen,     // errno has the reason
  CannotWrite,    // errno has the reason; the file is incomplete, and its header has no nodes
  TooLarge,       // 2^31 objects, or 2^32 edges
};

// One sentence in English, static storage.
TARE_API const char* describe(GraphError error) noexcept;

// Writes it to `path`, which is overwritten.
TARE_API GraphError write_graph(HeapBase& heap, const char* path, StackState stack) noexcept;

}  // namespace tare::inline TARE_ABI::gc
