// A call of an allocator with pools. Its blocks are recorded as those of a pool that the program registers
// (tare/reporter.h), and the calls of malloc that it makes meanwhile as ever: a block of the pool takes its bytes from
// the block of malloc that it lies in. So no byte is counted twice, wherever the pool keeps its memory.
//
// Frees and resizes don't name the pool: readers know which pool a block is of. A pool's end ends its blocks and its
// children. In a process with one thread that is recorded after the call, so that functions which the call performs
// (clean-ups, destructors) find all blocks. Else it is recorded before the call, as another thread may get the
// memory, and once more after it, for the blocks of such functions.
#pragma once

#include <cstdint>

#include "recorder/foreign/foreign_call.h"

namespace tare::recorder {

// Facts about an allocator with pools.
struct PoolAllocator {
  bool has_pools = false;
  const char* name = nullptr;
  const std::uint64_t* current = nullptr;  // the pool of calls that name none; null: there is no such pool
};

enum class BlockSize : std::uint8_t { Requested, String };

// `pool` is the pool's address. Blocks of pool 0 end only by themselves.
void* record_block_of_pool(const StartState& start, const PoolAllocator& allocator, std::uint64_t pool,
                           std::uint64_t bytes, BlockSize size, const ForeignCall& call);
void record_pool_free(const StartState& start, void* block, const ForeignCall& call);
void* record_pool_resize(const StartState& start, const PoolAllocator& allocator, std::uint64_t pool, void* old,
                         std::uint64_t bytes, const ForeignCall& call);
// The call returns the pool.
void* record_new_pool(const StartState& start, const PoolAllocator& allocator, std::uint64_t parent,
                      const ForeignCall& call);
void record_moved_pool(const StartState& start, std::uint64_t pool, std::uint64_t parent, const ForeignCall& call);

enum class PoolEnd : std::uint8_t { Blocks, BlocksAndChildren, All };
void record_end_of_pool(const StartState& start, std::uint64_t pool, PoolEnd what, const ForeignCall& call);

}  // namespace tare::recorder
