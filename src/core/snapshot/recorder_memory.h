// The recorder's own mappings in a program: they don't belong to the program, and aren't searched for its pointers.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/process_memory/memory_map.h"
#include "core/process_memory/memory_source.h"
#include "core/snapshot/resident_memory.h"

namespace tare::core {

// `list`: the address of the program's trace::OwnRanges, 0 for none. Ascending and disjoint; unreadable or invalid
// ranges are left out.
std::vector<AddressRange> recorder_ranges(MemorySource& memory, std::uint64_t list);

// The kernel makes one mapping of neighbours: pieces are cut out of it, or off it. Both ascending.
std::vector<MappedRange> without_ranges(std::span<const MappedRange> map, std::span<const AddressRange> cut);

// Pieces become ranges of their own, named `library`. `present_bytes`: how much of a piece is in memory, which smaps
// gives for whole mappings only.
std::vector<ResidentRange> with_recorder_named(std::vector<ResidentRange> ranges,
                                               std::span<const AddressRange> recorder, const std::string& library,
                                               const std::function<std::uint64_t(const AddressRange&)>& present_bytes);

}  // namespace tare::core
