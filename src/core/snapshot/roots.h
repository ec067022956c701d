// Where marking begins: the memory of a frozen process that isn't heap but may hold pointers into it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/analysis/live_block.h"
#include "core/process_memory/memory_map.h"
#include "core/process_memory/memory_source.h"

namespace tare::core {

// A stopped thread.
struct ThreadState {
  std::vector<std::uint64_t> registers;  // those that may hold a pointer
  std::uint64_t stack_pointer = 0;
  std::uint64_t thread_pointer = 0;  // of its thread-local storage
};

enum class HeapKnowledge : std::uint8_t {
  Whole,  // every live block is known
  // A forked child's, whose parent's blocks aren't, or one whose recorder slept: what isn't a known block may be such.
  Partly,
};

struct RootFacts {
  std::span<const MappedRange> map;
  std::span<const ThreadState> threads;
  std::span<const LiveBlock> blocks;               // by address
  std::span<const AddressRange> program_mappings;  // made by the program's own mmap, ascending
  HeapKnowledge heap = HeapKnowledge::Whole;
  bool allocator_maps_through_hooks = false;  // its arenas are among these: everything but glibc's malloc
  std::string recorder_library;               // holds addresses of blocks, which are no pointers of the program
  std::string spool_folder;                   // the same
};

// Whether a live block lies in the range, all or part of it. `blocks` by address.
bool holds_blocks(const AddressRange& range, std::span<const LiveBlock> blocks);

// Ascending and disjoint. Of stacks what is in use; of mappings that malloc carves blocks from only what the program
// mapped itself, for the rest is free memory with stale pointers in it.
std::vector<AddressRange> find_roots(const RootFacts& facts);

}  // namespace tare::core
