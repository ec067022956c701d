// Reads every live block once: contents, words that point to other blocks, and so the graph that marking walks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/analysis/live_block.h"
#include "core/process_memory/memory_source.h"
#include "core/snapshot/block_index.h"
#include "core/snapshot/content_words.h"
#include "trace/base/pointer_tag.h"
#include "trace/model/moment.h"

namespace tare::core {

enum class Links : std::uint8_t {
  Find,  // pointers are counted, and their sources and targets are kept: 4 bytes a pointer
  Skip,  // contents only: if only some blocks are known, their pointers prove nothing
};

class HeapScan {
 public:
  // `blocks` by address, ascending; both must outlive the scan.
  HeapScan(std::span<const LiveBlock> blocks, MemorySource& memory, Links links);

  // With them, scan_blocks() also finds how far filled blocks were written. They must outlive the scan.
  void use(ContentWords& words) { words_ = &words; }

  // Reads all blocks. Fills address, shape, digest, content and pointers of `observations` (one a block, made here).
  std::vector<trace::Observation> scan_blocks();
  // Scans memory outside the heap; the parts in live blocks are skipped.
  void scan_root(AddressRange range);
  void scan_root_word(std::uint64_t word) { add_root(index_.find(trace::untagged(word))); }

  // Called after scan_blocks() and all scan_root(): sets `reach` and `leak_root`.
  void mark(std::vector<trace::Observation>& observations);

  std::uint64_t unread_bytes() const { return unread_bytes_; }
  std::uint64_t root_bytes() const { return root_bytes_; }

 private:
  static constexpr std::uint32_t kInterior = 1u << 31;  // in an edge: it points into the middle of the block

  std::span<std::uint8_t> buffer(std::size_t bytes) { return {buffer_.get(), bytes}; }
  trace::ContentOrigin origin_of(std::size_t block);
  void scan_block(std::size_t block, std::span<const std::uint8_t> bytes, trace::Observation& seen);
  void scan_large(std::size_t block, trace::Observation& seen);
  void link(std::uint64_t address, std::span<const std::uint8_t> bytes, trace::Observation& seen);
  void add_root(BlockIndex::Hit hit) {
    if (hit.block != BlockIndex::kNone) roots_.push_back(hit.block | (hit.is_start ? 0 : kInterior));
  }
  void scan_root_bytes(std::uint64_t address, std::span<const std::uint8_t> bytes);
  void find_leak_roots(std::vector<trace::Observation>& observations) const;

  std::span<const LiveBlock> blocks_;
  MemorySource& memory_;
  Links links_;
  ContentWords* words_ = nullptr;
  BlockIndex index_;
  std::unique_ptr<std::uint8_t[]> buffer_;  // not zeroed: a small heap touches little of it
  std::vector<std::uint32_t> edges_;
  std::vector<std::uint64_t> first_edge_;  // by block, and one more
  std::vector<std::uint32_t> roots_;
  std::uint64_t unread_bytes_ = 0;
  std::uint64_t root_bytes_ = 0;
};

}  // namespace tare::core
