// Reads the heap of a frozen process: contents of blocks, pointers between them, and the time since they are unchanged.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/analysis/live_block.h"
#include "core/process_memory/memory_source.h"
#include "core/process_memory/process_memory.h"
#include "core/snapshot/frozen_process.h"
#include "core/snapshot/heap_scan.h"
#include "core/snapshot/resident_memory.h"
#include "core/snapshot/roots.h"
#include "trace/model/moment.h"

namespace tare::core {

// Roots of marking, beyond those that the kernel lists.
struct ObservedProcess {
  std::vector<AddressRange> program_mappings;  // see RootFacts
  HeapKnowledge heap = HeapKnowledge::Whole;
  bool allocator_maps_through_hooks = false;
  std::string recorder_library;
  std::string spool_folder;
  std::uint64_t content_table = 0;  // see ContentWords
  std::uint64_t own_ranges = 0;     // see recorder_ranges()
  Links links = Links::Find;
  bool compares_later = true;  // false: no snapshot follows that counts the pages touched since this one
};

// One for each process image: it keeps the digests of its last snapshot.
class Observer {
 public:
  // `blocks` by address, ascending. `now_ns` on any clock that goes on between calls. Sets blocks, frozen_ns and the
  // counts of read and unread bytes; the caller sets the other fields.
  trace::Moment observe(const FrozenProcess& process, const std::vector<LiveBlock>& blocks,
                        const ObservedProcess& facts, std::uint64_t now_ns);

 private:
  struct Seen {
    std::uint64_t address;
    std::uint64_t digest;
    std::uint64_t since_ns;
    std::uint32_t birth;
    bool read;
  };
  void read_pages(const std::vector<ResidentRange>& resident, ProcessMemory& memory, const RootFacts& around,
                  std::span<const AddressRange> recorder, trace::Moment& moment) const;
  void compare_with_last(const std::vector<LiveBlock>& blocks, std::uint64_t now_ns, trace::Moment& moment);

  std::vector<Seen> last_;  // by address
  bool forgets_ = false;    // the kernel forgot at the last look which pages were touched before
};

}  // namespace tare::core
