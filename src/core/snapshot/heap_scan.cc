// One pass over the heap, then marking without it: see heap_scan.h.
#include "core/snapshot/heap_scan.h"

#include <algorithm>
#include <cstring>

#include "core/snapshot/content.h"
#include "trace/model/content_digest.h"
#include "trace/model/content_pattern.h"

namespace tare::core {

using trace::ContentOrigin;
using trace::Observation;
using trace::Reach;

namespace {

constexpr std::uint64_t kWindowBytes = Content::kPieceBytes;
// A gap between two blocks is read too: a call costs as much as 4 KiB.
constexpr std::uint64_t kGapBytes = 4096;

template <typename Visit>
void for_each_word(std::uint64_t address, std::span<const std::uint8_t> bytes, Visit&& visit) {
  for (std::size_t at = (8 - address % 8) % 8; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    visit(word);
  }
}

}  // namespace

HeapScan::HeapScan(std::span<const LiveBlock> blocks, MemorySource& memory, Links links)
    : blocks_(blocks),
      memory_(memory),
      links_(links),
      index_(blocks),
      buffer_(std::make_unique_for_overwrite<std::uint8_t[]>(kWindowBytes + kGapBytes)) {}

void HeapScan::link(std::uint64_t address, std::span<const std::uint8_t> bytes, Observation& seen) {
  for_each_word(address, bytes, [&](std::uint64_t word) {
    const BlockIndex::Hit hit = index_.find(trace::untagged(word));
    if (hit.block == BlockIndex::kNone) return;
    ++(hit.is_start ? seen.start_pointers : seen.interior_pointers);
    edges_.push_back(hit.block | (hit.is_start ? 0 : kInterior));
  });
}

ContentOrigin HeapScan::origin_of(std::size_t block) {
  return words_ == nullptr ? ContentOrigin::Unknown : words_->origin_of(blocks_[block].address);
}

void HeapScan::scan_block(std::size_t block, std::span<const std::uint8_t> bytes, Observation& seen) {
  Content content(bytes.size());
  content.add(bytes);
  seen.digest = content.digest();
  seen.content = content.kind();
  if (const ContentOrigin origin = origin_of(block); origin != ContentOrigin::Unknown) {
    seen.high_water_bytes = trace::high_water(bytes, origin);
    // As of a block that ends, so that the two can be compared.
    if (bytes.size() <= trace::kMostDigestedBytes)
      seen.digest = trace::content_digest(bytes.first(*seen.high_water_bytes));
  }
  if (links_ == Links::Find) link(blocks_[block].address, bytes, seen);
}

void HeapScan::scan_large(std::size_t block, Observation& seen) {
  const LiveBlock& facts = blocks_[block];
  const ContentOrigin origin = origin_of(block);
  std::uint64_t mark = 0;
  Content content(facts.requested_bytes);
  for (std::uint64_t done = 0; done < facts.requested_bytes;) {
    const std::size_t wanted = std::min<std::uint64_t>(facts.requested_bytes - done, Content::kPieceBytes);
    const std::size_t got = memory_.read(facts.address + done, buffer(wanted));
    const std::span<const std::uint8_t> bytes = buffer(got);
    content.add(bytes);
    if (const std::uint64_t in_piece = trace::high_water(bytes, origin); in_piece > 0) mark = done + in_piece;
    if (links_ == Links::Find) link(facts.address + done, bytes, seen);
    if (got < wanted) {
      unread_bytes_ += facts.requested_bytes - done - got;
      return;  // its contents are unknown; its pointers still count
    }
    done += got;
  }
  seen.digest = content.digest();
  seen.content = content.kind();
  if (origin != ContentOrigin::Unknown) seen.high_water_bytes = mark;
}

std::vector<Observation> HeapScan::scan_blocks() {
  std::vector<Observation> observations(blocks_.size());
  first_edge_.assign(blocks_.size() + 1, 0);
  for (std::size_t block = 0; block < blocks_.size();) {
    if (blocks_[block].requested_bytes > kWindowBytes) {
      first_edge_[block] = edges_.size();
      scan_large(block, observations[block]);
      ++block;
      continue;
    }
    // As many neighbours as fit the window are read at once.
    const std::uint64_t start = blocks_[block].address;
    std::uint64_t end = start;
    std::size_t last = block;
    while (last < blocks_.size() && blocks_[last].address <= end + kGapBytes &&
           blocks_[last].address + blocks_[last].requested_bytes <= start + kWindowBytes) {
      end = std::max(end, blocks_[last].address + blocks_[last].requested_bytes);
      ++last;
    }
    const std::size_t got = memory_.read(start, buffer(end - start));
    for (; block < last; ++block) {
      first_edge_[block] = edges_.size();
      const std::uint64_t offset = blocks_[block].address - start;
      const std::uint64_t bytes = blocks_[block].requested_bytes;
      if (offset + bytes <= got) {
        scan_block(block, buffer(got).subspan(offset, bytes), observations[block]);
        continue;
      }
      std::vector<std::uint8_t> own(bytes);  // something before it isn't mapped, or it itself
      if (memory_.read(blocks_[block].address, own) == bytes) {
        scan_block(block, own, observations[block]);
      } else {
        unread_bytes_ += bytes;
      }
    }
  }
  first_edge_.back() = edges_.size();
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    observations[block].address = blocks_[block].address;
    observations[block].shape = blocks_[block].shape;
  }
  return observations;
}

void HeapScan::scan_root_bytes(std::uint64_t address, std::span<const std::uint8_t> bytes) {
  for_each_word(address, bytes, [&](std::uint64_t word) { scan_root_word(word); });
}

void HeapScan::scan_root(AddressRange range) {
  range.start = (range.start + 7) / 8 * 8;
  // The first block that ends behind the range's start.
  auto block = std::upper_bound(blocks_.begin(), blocks_.end(), range.start,
                                [](std::uint64_t start, const LiveBlock& one) { return start < one.address; });
  if (block != blocks_.begin() && std::prev(block)->address + std::prev(block)->usable_bytes > range.start) --block;
  for (std::uint64_t at = range.start; at < range.end;) {
    const std::uint64_t next = block == blocks_.end() ? range.end : std::min(range.end, block->address);
    while (at < next) {
      const std::size_t wanted = std::min(next - at, kWindowBytes);
      const std::size_t got = memory_.read(at, buffer(wanted));
      scan_root_bytes(at, buffer(got));
      root_bytes_ += got;
      at += wanted;
    }
    if (block == blocks_.end()) break;
    at = std::max(at, block->address + block->usable_bytes);
    ++block;
  }
}

void HeapScan::mark(std::vector<Observation>& observations) {
  if (links_ == Links::Skip) return;
  // A byte a block stays in the cache where an observation is more than a line of it.
  std::vector<Reach> reach(observations.size(), Reach::None);
  std::vector<std::uint32_t> pending;
  const auto arrive = [&](std::uint32_t edge, Reach over) {
    Reach& seen = reach[edge & ~kInterior];
    if (seen != Reach::None) return;
    seen = over;
    pending.push_back(edge & ~kInterior);
  };
  const auto walk = [&](Reach over) {
    while (!pending.empty()) {
      const std::uint32_t block = pending.back();
      pending.pop_back();
      for (std::uint64_t edge = first_edge_[block]; edge < first_edge_[block + 1]; ++edge) {
        if (over == Reach::Interior || (edges_[edge] & kInterior) == 0) arrive(edges_[edge], over);
      }
    }
  };
  for (const std::uint32_t root : roots_) {
    if ((root & kInterior) == 0) arrive(root, Reach::Start);
  }
  walk(Reach::Start);
  // Then blocks that only interior pointers reach, and blocks that hang on these.
  for (const std::uint32_t root : roots_) arrive(root, Reach::Interior);
  for (std::uint32_t block = 0; block < observations.size(); ++block) {
    if (reach[block] == Reach::Start) pending.push_back(block);
  }
  walk(Reach::Interior);
  for (std::size_t block = 0; block < observations.size(); ++block) observations[block].reach = reach[block];
  find_leak_roots(observations);
}

// A leaked block that no other leaked one points to is a root, and all that it leads to hangs on it. The rest are
// rings: the first block of a ring by address represents it.
void HeapScan::find_leak_roots(std::vector<Observation>& observations) const {
  std::vector<bool> pointed_to(observations.size());
  const auto leaked = [&](std::size_t block) { return observations[block].reach == Reach::None; };
  for (std::uint32_t block = 0; block < observations.size(); ++block) {
    if (!leaked(block)) continue;
    for (std::uint64_t edge = first_edge_[block]; edge < first_edge_[block + 1]; ++edge) {
      const std::uint32_t target = edges_[edge] & ~kInterior;
      if (target != block) pointed_to[target] = true;
    }
  }
  std::vector<std::uint32_t> pending;
  const auto hang_on = [&](std::uint32_t root) {
    observations[root].leak_root = root;
    pending.push_back(root);
    while (!pending.empty()) {
      const std::uint32_t block = pending.back();
      pending.pop_back();
      for (std::uint64_t edge = first_edge_[block]; edge < first_edge_[block + 1]; ++edge) {
        const std::uint32_t target = edges_[edge] & ~kInterior;
        if (!leaked(target) || observations[target].leak_root != trace::kNoObservation) continue;
        observations[target].leak_root = root;
        pending.push_back(target);
      }
    }
  };
  for (std::uint32_t block = 0; block < observations.size(); ++block) {
    if (leaked(block) && !pointed_to[block]) hang_on(block);
  }
  for (std::uint32_t block = 0; block < observations.size(); ++block) {
    if (leaked(block) && observations[block].leak_root == trace::kNoObservation) hang_on(block);
  }
}

}  // namespace tare::core
