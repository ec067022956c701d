// Where the pages are that a process has in memory: /proc/PID/smaps, by what they are used for.
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
  std::uint64_t touched_bytes = 0;  // of those: read or written since the kernel was last told to forget it
  std::uint64_t huge_bytes = 0;     // of the resident ones: anonymous huge pages
  bool has_served_faults = false;   // registered with userfaultfd: a read of an absent page waits for another thread
};

// Ascending. Empty where the file can't be read: other users' processes, old kernels.
std::vector<ResidentRange> resident_ranges_of(pid_t pid);
// Of the text of such a file; what makes no sense is left out.
std::vector<ResidentRange> parse_resident_ranges(std::string_view text);

// Those whose faults another thread serves: while that thread is stopped, a read would wait for ever.
std::vector<AddressRange> ranges_with_served_faults(std::span<const ResidentRange> ranges);

// By kind, files by name, largest first. Ranges with live blocks are heap, those with a thread's stack pointer stacks.
std::vector<trace::MemoryPart> memory_parts(std::span<const ResidentRange> ranges, const RootFacts& facts);

// Lets the kernel forget which pages were touched, so that the next look tells what was since. False: it doesn't. Some
// of what is touched then isn't told: the processor doesn't mark pages again that its TLB holds, a few thousand at
// most. Nothing but the order in which pages would be swapped out depends on it.
bool forget_touched(pid_t pid);

}  // namespace tare::core
