// A call of a foreign allocator: one that divides memory above malloc or beside it. No byte is recorded twice: the
// allocator's blocks and mappings are recorded, and the calls of malloc that it makes meanwhile aren't.
//
// An allocator that passes a large request on to malloc returns malloc's block. The hooks of malloc note that block,
// and it is recorded with malloc's sizes. A block that merely begins a piece of memory from malloc isn't.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recorder/events/record.h"

namespace tare::recorder {

// Facts about the blocks of a foreign allocator.
struct ForeignHeap {
  // Bytes of a block of the allocator's own memory; null: as requested.
  std::size_t (*usable_bytes)(void* block, std::size_t requested);
  bool allocates = true;  // that function may: a block that it makes counts as requested
};

// One call of an allocator, which `perform` makes.
struct ForeignCall {
  void* (*perform)(const void* context);
  const void* context;
};

inline constexpr std::size_t kSizeUnknown = ~std::size_t{0};

struct ForeignRequest {
  std::size_t bytes;           // kSizeUnknown: what the block has
  std::size_t align;           // 0: none asked for
  trace::AllocApi by_malloc;   // how a block is recorded that malloc has made
  trace::AllocApi by_foreign;  // and one of the allocator's own memory
};

void* record_foreign_alloc(const StartState& start, const ForeignHeap& heap, const ForeignRequest& request,
                           const ForeignCall& call);
void* record_foreign_realloc(const StartState& start, const ForeignHeap& heap, void* old, std::size_t bytes,
                             const ForeignCall& call);
void record_foreign_free(const StartState& start, void* block, const ForeignCall& call);

}  // namespace tare::recorder
