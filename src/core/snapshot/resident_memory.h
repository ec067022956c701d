// The resident pages of a process by purpose: /proc/PID/smaps.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/process_memory/memory_map.h"
#include "core/snapshot/roots.h"
#include "trace/model/moment.h"

namespace tare::core {

struct ResidentRange {
  MappedRange mapped;
  std::uint64_t resident_bytes = 0;
  std::uint64_t touched_bytes = 0;  // of those: read or written since the kernel's marks were cleared
  std::uint64_t huge_bytes = 0;     // of the resident ones: anonymous huge pages
  bool has_served_faults = false;   // registered with userfaultfd: a read of an absent page waits for another thread
};

// Ascending. Empty where the file can't be read: other users' processes, old kernels.
std::vector<ResidentRange> resident_ranges_of(pid_t pid);
// Parses the text of such a file; invalid lines are left out.
std::vector<ResidentRange> parse_resident_ranges(std::string_view text);

// Ranges whose faults another thread serves: while that thread is stopped, a read would wait for ever.
std::vector<AddressRange> ranges_with_served_faults(std::span<const ResidentRange> ranges);

// By kind, files by name, largest first. Ranges with live blocks are heap, those with a thread's stack pointer stacks.
std::vector<trace::MemoryPart> memory_parts(std::span<const ResidentRange> ranges, const RootFacts& facts);

// Clears the kernel's marks of touched pages, so that the next reading shows the pages touched since. False: it
// doesn't. Some touched pages are missing then: the processor doesn't mark pages again that are in its TLB, a few
// thousand at most. Nothing but the order in which pages would be swapped out depends on it.
bool forget_touched(pid_t pid);

}  // namespace tare::core
