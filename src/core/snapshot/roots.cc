// Sorts a process's mappings into stacks, globals, heap and the rest: see roots.h.
#include "core/snapshot/roots.h"

#include <algorithm>

namespace tare::core {
namespace {

constexpr std::uint64_t kRedZoneBytes = 128;  // below the stack pointer, still in use on x86-64

bool begins_with(std::string_view text, std::string_view start) {
  return !start.empty() && text.substr(0, start.size()) == start;
}

void add_overlap(const AddressRange& a, const AddressRange& b, std::vector<AddressRange>& out) {
  const AddressRange both{std::max(a.start, b.start), std::min(a.end, b.end)};
  if (both.start < both.end) out.push_back(both);
}

void join(std::vector<AddressRange>& ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const AddressRange& a, const AddressRange& b) { return a.start < b.start; });
  std::size_t kept = 0;
  for (const AddressRange& range : ranges) {
    if (kept > 0 && range.start <= ranges[kept - 1].end) {
      ranges[kept - 1].end = std::max(ranges[kept - 1].end, range.end);
    } else {
      ranges[kept++] = range;
    }
  }
  ranges.resize(kept);
}

}  // namespace

bool holds_blocks(const AddressRange& range, std::span<const LiveBlock> blocks) {
  const auto first =
      std::lower_bound(blocks.begin(), blocks.end(), range.start,
                       [](const LiveBlock& block, std::uint64_t start) { return block.address < start; });
  if (first != blocks.end() && first->address < range.end) return true;
  return first != blocks.begin() && std::prev(first)->address + std::prev(first)->usable_bytes > range.start;
}

std::vector<AddressRange> find_roots(const RootFacts& facts) {
  std::vector<AddressRange> roots;
  for (const MappedRange& mapped : facts.map) {
    const AddressRange& range = mapped.range;
    if (!mapped.readable || !mapped.writable) continue;
    if (begins_with(mapped.name, facts.spool_folder) || mapped.name == facts.recorder_library) continue;
    // The kernel's devices: reading one may do something.
    if (begins_with(mapped.name, "/dev/") && !begins_with(mapped.name, "/dev/shm/")) continue;
    std::uint64_t lowest_stack = range.end;
    bool is_stack = false;
    for (const ThreadState& thread : facts.threads) {
      if (thread.stack_pointer < range.start || thread.stack_pointer >= range.end) continue;
      is_stack = true;
      lowest_stack =
          std::min(lowest_stack, std::max(range.start + kRedZoneBytes, thread.stack_pointer) - kRedZoneBytes);
    }
    if (is_stack) {
      // Neighbouring stacks are one mapping to the kernel: from the lowest in use on.
      roots.push_back({lowest_stack, range.end});
    } else if (facts.heap == HeapKnowledge::Whole &&
               (mapped.name == "[heap]" || (mapped.name.empty() && holds_blocks(range, facts.blocks)))) {
      if (facts.allocator_maps_through_hooks) continue;
      for (const AddressRange& own : facts.program_mappings) {
        if (!holds_blocks(own, facts.blocks)) add_overlap(range, own, roots);  // else a foreign allocator's
      }
    } else {
      roots.push_back(range);
    }
  }
  // Thread-local storage lies above a thread's stack, or in a mapping of the loader's that may have become one with the
  // heap's.
  for (const ThreadState& thread : facts.threads) {
    constexpr std::uint64_t kAround = 4096;
    for (const MappedRange& mapped : facts.map) {
      if (thread.thread_pointer < mapped.range.start || thread.thread_pointer >= mapped.range.end) continue;
      add_overlap(mapped.range, {thread.thread_pointer - kAround, thread.thread_pointer + kAround}, roots);
    }
  }
  join(roots);
  return roots;
}

}  // namespace tare::core
