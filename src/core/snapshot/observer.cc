// Scans, marks, and compares with the moment before: see observer.h.
#include "core/snapshot/observer.h"

#include "core/process_memory/memory_map.h"
#include "core/snapshot/recorder_memory.h"
#include "core/snapshot/resident_memory.h"

namespace tare::core {
namespace {

// Smaller blocks hold no whole page, or lie among others that were touched.
constexpr std::uint64_t kLeastAbsentBytes = 8192;

// smaps lists all that maps does, where the kernel has it.
std::vector<MappedRange> mapped_ranges(pid_t pid, const std::vector<ResidentRange>& resident) {
  if (resident.empty()) return memory_map_of(pid);
  std::vector<MappedRange> map;
  map.reserve(resident.size());
  for (const ResidentRange& range : resident) map.push_back(range.mapped);
  return map;
}

}  // namespace

trace::Moment Observer::observe(const FrozenProcess& process, const std::vector<LiveBlock>& blocks,
                                const ObservedProcess& facts, std::uint64_t now_ns) {
  trace::Moment moment;
  const std::vector<ResidentRange> resident = resident_ranges_of(process.pid());
  const std::vector<MappedRange> whole_map = mapped_ranges(process.pid(), resident);
  ProcessMemory memory(process.pid(), whole_map);
  const std::vector<AddressRange> recorder = recorder_ranges(memory, facts.own_ranges);
  const std::vector<AddressRange> served = ranges_with_served_faults(resident);
  memory.leave_out(served);
  const std::vector<MappedRange> map = without_ranges(without_ranges(whole_map, recorder), served);
  const std::vector<ThreadState> threads = process.threads();
  const RootFacts around{map,
                         threads,
                         blocks,
                         facts.program_mappings,
                         facts.heap,
                         facts.allocator_maps_through_hooks,
                         facts.recorder_library,
                         facts.spool_folder};
  read_pages(resident, memory, around, recorder, moment);
  HeapScan scan(blocks, memory, facts.links);
  ContentWords words(memory, facts.content_table);
  scan.use(words);
  moment.blocks = scan.scan_blocks();
  if (facts.links == Links::Find && !blocks.empty()) {
    for (const AddressRange& root : find_roots(around)) scan.scan_root(root);
    for (const ThreadState& thread : threads) {
      for (const std::uint64_t word : thread.registers) scan.scan_root_word(word);
    }
    scan.mark(moment.blocks);
  }
  moment.root_bytes = scan.root_bytes();
  moment.unread_bytes = scan.unread_bytes();
  compare_with_last(blocks, now_ns, moment);
  forgets_ = facts.compares_later && forget_touched(process.pid());
  return moment;
}

// Before the blocks are read, which touches their pages, too.
void Observer::read_pages(const std::vector<ResidentRange>& resident, ProcessMemory& memory, const RootFacts& around,
                          std::span<const AddressRange> recorder, trace::Moment& moment) const {
  const auto present_bytes = [&](const AddressRange& range) { return range.bytes() - memory.absent_bytes(range); };
  moment.memory = memory_parts(with_recorder_named(resident, recorder, around.recorder_library, present_bytes), around);
  moment.touches_known = forgets_;
  for (const LiveBlock& block : around.blocks) {
    if (block.usable_bytes >= kLeastAbsentBytes)
      moment.absent_bytes += memory.absent_bytes({block.address, block.address + block.usable_bytes});
  }
}

void Observer::compare_with_last(const std::vector<LiveBlock>& blocks, std::uint64_t now_ns, trace::Moment& moment) {
  std::vector<Seen> now;
  now.reserve(blocks.size());
  auto before = last_.begin();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    trace::Observation& block = moment.blocks[i];
    const bool read = block.content != trace::BlockContent::Unread;
    Seen seen{block.address, block.digest, now_ns, blocks[i].birth, read};
    while (before != last_.end() && before->address < block.address) ++before;
    const bool known = before != last_.end() && before->address == block.address && before->birth == seen.birth;
    if (known && read && before->read) {
      if (before->digest == block.digest) seen.since_ns = before->since_ns;
      block.unchanged_ns = now_ns - seen.since_ns;
    }
    now.push_back(seen);
  }
  last_ = std::move(now);
}

}  // namespace tare::core
