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
  // A forked child without its parent's blocks, or a recorder that slept: memory outside known blocks may contain
  // unknown ones.
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

// True if all or part of a live block lies in the range. `blocks` by address.
bool holds_blocks(const AddressRange& range, std::span<const LiveBlock> blocks);

// Ascending and disjoint. Of stacks the part in use. Of mappings from which malloc takes blocks, only the program's own
// mappings without blocks: the rest is free memory with stale pointers.
std::vector<AddressRange> find_roots(const RootFacts& facts);

}  // namespace tare::core
