// The slow ways through the shadow map: making tables and leaves, and giving leaves back.
#include "core/analysis/block_map.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace tare::core {
namespace {

// With fewer full leaves than this (32 MiB), empty ones aren't searched for: an emptied page is mostly reused soon.
constexpr std::uint64_t kLeastLeavesToShrink = 16384;

template <typename T>
T* zeroed() {
  void* memory = std::calloc(1, sizeof(T));
  if (!memory) throw std::bad_alloc();
  return static_cast<T*>(memory);
}

}  // namespace

template <typename Leaf>
Leaf* BlockMap::Pool<Leaf>::take() {
  if (free_.empty()) {
    const std::size_t count = batches_.empty() ? kFirst : kBatch;
    batches_.push_back(std::make_unique_for_overwrite<Leaf[]>(count));
    for (std::size_t i = count; i-- > 0;) free_.push_back(&batches_.back()[i]);
    made_ += count;
  }
  Leaf* leaf = free_.back();
  free_.pop_back();
  std::memset(static_cast<void*>(leaf), 0, sizeof(Leaf));
  return leaf;
}

BlockMap::BlockMap() : top_(kTops), shrink_at_(kLeastLeavesToShrink) {}

BlockMap::~BlockMap() {
  for (const auto& middle : middles_) {
    middle[0].for_each_region([&](std::uint64_t region) { std::free(middle[0].regions[region]); });
  }
}

std::uint64_t BlockMap::memory_bytes() const {
  return table_bytes_ + sparse_leaves_.bytes() + full_leaves_.bytes() + sizeof(*this);
}

BlockMap::PageEntry& BlockMap::make_entry(std::uint64_t page) {
  const auto top = static_cast<std::uint32_t>(page >> (kRegionBits + kMiddleBits));
  Middle*& middle = top_[top];
  if (!middle) {
    middle = &middles_.emplace_back(1)[0];
    used_tops_.push_back(top);
    table_bytes_ += sizeof(Middle);
  }
  const std::uint64_t number = page >> kRegionBits & ((1u << kMiddleBits) - 1);
  Region*& region = middle->regions[number];
  if (!region) {
    region = zeroed<Region>();
    middle->used[number / 64] |= std::uint64_t{1} << (number % 64);
    table_bytes_ += sizeof(Region);
  }
  return region->pages[page & ((1u << kRegionBits) - 1)];
}

std::uint64_t* BlockMap::find_slowly(Place place) {
  ++slow_visits_;
  const PageEntry* found = entry(place.page);
  if (!found || !*found) return nullptr;
  if (*found & kSparse) {
    SparseLeaf* leaf = sparse(*found);
    for (std::uint8_t i = 0; i < leaf->used; ++i) {
      if (leaf->slots[i] == place.slot) return &leaf->words[i];
    }
    return nullptr;
  }
  remember(place.page, full(*found));
  return &full(*found)->words[place.slot];
}

int BlockMap::last_live_slot(PageEntry entry, std::uint32_t until) {
  int last = -1;
  if (entry & kSparse) {
    const SparseLeaf* leaf = sparse(entry);
    for (std::uint8_t i = 0; i < leaf->used; ++i) {
      if (leaf->slots[i] <= until && is_live(leaf->words[i])) last = std::max<int>(last, leaf->slots[i]);
    }
    return last;
  }
  const FullLeaf* leaf = full(entry);
  for (last = static_cast<int>(until); last >= 0 && !is_live(leaf->words[last]);) --last;
  return last;
}

// Among addresses with the same low four bits. It may be less than `lowest` by less than a page.
std::optional<std::uint64_t> BlockMap::last_live_in_plane(std::uint64_t address, std::uint64_t lowest) const {
  const Place from(address);
  const std::uint64_t lowest_page = Place(address - (address - lowest) / 16 * 16).page;
  std::uint32_t until = from.slot;
  for (std::uint64_t page = from.page; page >= lowest_page; --page) {
    // Without a table, to its first page: the next one is another table's last.
    if (!top_[page >> (kRegionBits + kMiddleBits)]) {
      page &= ~((std::uint64_t{1} << (kRegionBits + kMiddleBits)) - 1);
    } else if (const PageEntry* found = entry(page); !found) {
      page &= ~((std::uint64_t{1} << kRegionBits) - 1);
    } else if (*found) {
      if (const int slot = last_live_slot(*found, until); slot >= 0) {
        return Place::address(page, static_cast<std::uint32_t>(slot));
      }
    }
    until = (1u << kSlotBits) - 1;
    if (page == 0) break;
  }
  return std::nullopt;
}

// Among multiples of 8 behind the address's low three bits.
std::optional<std::uint64_t> BlockMap::last_live_between(std::uint64_t lowest, std::uint64_t address) const {
  const std::optional<std::uint64_t> found = last_live_in_plane(address, lowest);
  const std::optional<std::uint64_t> other =
      address - lowest < 8 ? std::nullopt : last_live_in_plane(address - 8, lowest);
  return std::max(found, other);  // nothing is less than any address
}

std::optional<std::uint64_t> BlockMap::last_live_until(std::uint64_t address) const {
  return last_live_between(address - std::min(kFarthestBytes, address), address);
}

bool BlockMap::has_live_in(std::uint64_t start, std::uint64_t end) const {
  constexpr std::uint64_t kAddressesEnd = std::uint64_t{1} << 48;  // a Place leaves higher bits out
  end = std::min(end, kAddressesEnd);
  if (start >= end) return false;
  const std::uint64_t last = (end - 1) / 8 * 8;
  return last >= start && last_live_between(start, last) >= start;
}

std::uint64_t& BlockMap::claim_slowly(Place place) {
  ++slow_visits_;
  PageEntry& found = make_entry(place.page);
  if (found == 0 || found & kSparse) return claim_sparse(found, place);
  remember(place.page, full(found));
  return full(found)->words[place.slot];
}

std::uint64_t& BlockMap::claim_sparse(PageEntry& page_entry, Place place) {
  if (page_entry == 0) page_entry = reinterpret_cast<PageEntry>(sparse_leaves_.take()) | kSparse;
  SparseLeaf* leaf = sparse(page_entry);
  const auto slot = static_cast<std::uint8_t>(place.slot);
  std::uint8_t dead = SparseLeaf::kCapacity;
  for (std::uint8_t i = 0; i < leaf->used; ++i) {
    if (leaf->slots[i] == slot) return leaf->words[i];
    if (!is_live(leaf->words[i])) dead = i;
  }
  if (leaf->used < SparseLeaf::kCapacity) {
    leaf->slots[leaf->used] = slot;
    return leaf->words[leaf->used++];
  }
  if (dead < SparseLeaf::kCapacity) {
    leaf->slots[dead] = slot;
    return leaf->words[dead] = kNever;
  }
  if (full_count_ >= shrink_at_) shrink_leaves();
  FullLeaf* grown = full_leaves_.take();
  ++full_count_;
  for (std::uint8_t i = 0; i < SparseLeaf::kCapacity; ++i) grown->words[leaf->slots[i]] = leaf->words[i];
  sparse_leaves_.give(leaf);
  page_entry = reinterpret_cast<PageEntry>(grown);
  remember(place.page, grown);
  return grown->words[slot];
}

// Full leaves that hold at most 7 live blocks become sparse again. Looks through all of them, and therefore only when
// their number has doubled since the last time.
void BlockMap::shrink_leaves() {
  for_each_entry([&](std::uint64_t page, PageEntry entry_word) {
    if (entry_word & kSparse) return;
    FullLeaf* leaf = full(entry_word);
    SparseLeaf kept{};
    for (std::uint32_t slot = 0; slot < (1u << kSlotBits); ++slot) {
      if (!is_live(leaf->words[slot])) continue;
      if (kept.used == SparseLeaf::kCapacity) return;
      kept.slots[kept.used] = static_cast<std::uint8_t>(slot);
      kept.words[kept.used++] = leaf->words[slot];
    }
    PageEntry shrunk = 0;
    if (kept.used > 0) {
      SparseLeaf* leaf_for_few = sparse_leaves_.take();
      *leaf_for_few = kept;
      shrunk = reinterpret_cast<PageEntry>(leaf_for_few) | kSparse;
    }
    *entry(page) = shrunk;
    full_leaves_.give(leaf);
    --full_count_;
  });
  cache_.fill({});
  shrink_at_ = full_count_ * 2 > kLeastLeavesToShrink ? full_count_ * 2 : kLeastLeavesToShrink;
}

}  // namespace tare::core
