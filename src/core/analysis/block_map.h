// Live blocks by address: a shadow of the address space with one 64-bit word per 16 bytes, in leaves of a 4 KiB page.
//
// Allocators reuse addresses that lie close together, so the shadow has the cache behaviour of the program's own heap;
// a hash table would miss the cache on every event. A leaf starts sparse (64 bytes, at most 7 addresses: pages of large
// blocks) and becomes full (2 KiB) when an eighth address appears.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <iterator>
#include <memory>
#include <optional>
#include <vector>

#include "core/analysis/zeroed_pages.h"

namespace tare::core {

class BlockMap {
 public:
  // The caller defines the contents of a slot, with three exceptions: a word with any of these bits is live; kNever
  // means that no block began there; kGone means that the last block has ended. Dead words may be forgotten, and then
  // read as kNever.
  static constexpr std::uint64_t kLiveBits = 0xc0000000;
  static constexpr std::uint64_t kNever = 0;
  static constexpr std::uint64_t kGone = 1;
  static constexpr bool is_live(std::uint64_t word) { return (word & kLiveBits) != 0; }

  BlockMap();
  ~BlockMap();
  BlockMap(const BlockMap&) = delete;
  BlockMap& operator=(const BlockMap&) = delete;

  // The slot of `address`, or null if it was never claimed (or forgotten since). Valid until the next claim().
  std::uint64_t* find(std::uint64_t address) {
    const Place place(address);
    const Cached& cached = cache_[place.page % kCachedPages];
    if (cached.page == place.page) [[likely]]
      return cached.words + place.slot;
    return find_slowly(place);
  }

  // Prefetches the slot of `address` for a later look-up. The tables above it are small. Inlined early: GCC takes a
  // function that only prefetches for one without effects, and removes its calls.
  [[gnu::always_inline]] void prefetch(std::uint64_t address) const {
    const Place place(address);
    const PageEntry* const found = entry(place.page);
    if (!found || !*found) return;
    if (*found & kSparse) {
      __builtin_prefetch(sparse(*found), 1);
    } else {
      __builtin_prefetch(full(*found)->words + place.slot, 1);
    }
  }

  // The word at `address`, without keeping where it was found.
  std::uint64_t peek(std::uint64_t address) const {
    const Place place(address);
    const PageEntry* const found = entry(place.page);
    if (!found || !*found) return kNever;
    if (!(*found & kSparse)) return full(*found)->words[place.slot];
    const SparseLeaf* leaf = sparse(*found);
    for (std::uint8_t i = 0; i < leaf->used; ++i) {
      if (leaf->slots[i] == place.slot) return leaf->words[i];
    }
    return kNever;
  }

  // The slot of `address`, made if need be (kNever). Valid until the next claim().
  std::uint64_t& claim(std::uint64_t address) {
    const Place place(address);
    const Cached& cached = cache_[place.page % kCachedPages];
    if (cached.page == place.page) [[likely]]
      return cached.words[place.slot];
    return claim_slowly(place);
  }

  // The highest address up to this one where a live block begins, among those that are a multiple of 8 away and no
  // farther than kFarthestBytes. If there is none, the search costs 4 us: it skips 256 KiB without blocks at a time.
  static constexpr std::uint64_t kFarthestBytes = std::uint64_t{256} << 20;
  std::optional<std::uint64_t> last_live_until(std::uint64_t address) const;
  // Whether a live block begins in [start, end), among addresses that are multiples of 8.
  bool has_live_in(std::uint64_t start, std::uint64_t end) const;

  std::uint64_t memory_bytes() const;
  // Look-ups and claims that had to walk the tables.
  std::uint64_t slow_visits() const { return slow_visits_; }

  // Calls visit(address, word) for every live word, by ascending address within each alignment (see Place).
  template <typename Visit>
  void for_each_live(Visit&& visit) const;

 private:
  static constexpr int kSlotBits = 8;     // 256 slots of 16 bytes: a leaf covers 4 KiB
  static constexpr int kRegionBits = 6;   // 64 pages: a region covers 256 KiB
  static constexpr int kMiddleBits = 15;  // 32768 regions: a middle table covers 8 GiB
  static constexpr int kTopBits = 19;
  static constexpr std::size_t kTops = std::size_t{1} << kTopBits;
  // 8 KiB of cache covers 2 MiB of heap, about the working set of a phase.
  static constexpr std::size_t kCachedPages = 512;

  // Addresses that aren't multiples of 16 (8-byte size classes, odd pools) get planes of their own: the low four bits
  // become the topmost, so that two blocks in one 16-byte unit never share a slot.
  struct Place {
    std::uint64_t page;
    std::uint32_t slot;
    explicit Place(std::uint64_t address) {
      const std::uint64_t low = address & 15;
      const std::uint64_t key = (address << 16 >> 20) | low << 44;
      page = key >> kSlotBits;
      slot = key & ((1u << kSlotBits) - 1);
    }
    static std::uint64_t address(std::uint64_t page, std::uint32_t slot) {
      const std::uint64_t key = page << kSlotBits | slot;
      return (key & 0xfffffffffffull) << 4 | key >> 44;
    }
  };

  struct alignas(64) SparseLeaf {
    static constexpr std::uint8_t kCapacity = 7;
    std::uint64_t words[kCapacity];
    std::uint8_t slots[kCapacity];
    std::uint8_t used;
  };
  static_assert(sizeof(SparseLeaf) == 64);

  struct alignas(64) FullLeaf {
    std::uint64_t words[1 << kSlotBits];
  };

  // A page is 0 (nothing), a FullLeaf*, or a SparseLeaf* with bit 0 set.
  using PageEntry = std::uintptr_t;
  static constexpr PageEntry kSparse = 1;
  struct Region {
    PageEntry pages[1 << kRegionBits];
  };
  struct Middle {
    Region* regions[1 << kMiddleBits];
    std::uint64_t used[(1 << kMiddleBits) / 64];  // a bit a region: a walk doesn't touch the 256 KiB of a lone block
    template <typename Visit>
    void for_each_region(Visit&& visit) const {
      for (std::uint64_t word = 0; word < std::size(used); ++word) {
        for (std::uint64_t bits = used[word]; bits != 0; bits &= bits - 1) {
          visit(word * 64 + static_cast<std::uint64_t>(std::countr_zero(bits)));
        }
      }
    }
  };
  struct Cached {
    std::uint64_t page = ~0ull;
    std::uint64_t* words = nullptr;
  };

  // Allocates leaves by the hundred and keeps free ones in a list, so that a leaf costs no malloc.
  template <typename Leaf>
  class Pool {
   public:
    Leaf* take();
    void give(Leaf* leaf) { free_.push_back(leaf); }
    std::uint64_t bytes() const { return made_ * sizeof(Leaf) + free_.capacity() * sizeof(Leaf*); }

   private:
    static constexpr std::size_t kBatch = 256 * 1024 / sizeof(Leaf);
    static constexpr std::size_t kFirst = kBatch / 16;  // enough for a process that lives for a moment
    std::size_t made_ = 0;
    std::vector<std::unique_ptr<Leaf[]>> batches_;
    std::vector<Leaf*> free_;
  };

  static SparseLeaf* sparse(PageEntry entry) { return reinterpret_cast<SparseLeaf*>(entry & ~kSparse); }
  static FullLeaf* full(PageEntry entry) { return reinterpret_cast<FullLeaf*>(entry); }

  // Null: no region there.
  PageEntry* entry(std::uint64_t page) const {
    const Middle* middle = top_[page >> (kRegionBits + kMiddleBits)];
    if (!middle) return nullptr;
    Region* region = middle->regions[page >> kRegionBits & ((1u << kMiddleBits) - 1)];
    return region ? &region->pages[page & ((1u << kRegionBits) - 1)] : nullptr;
  }
  static int last_live_slot(PageEntry entry, std::uint32_t until);  // -1: none
  std::optional<std::uint64_t> last_live_in_plane(std::uint64_t address, std::uint64_t lowest) const;
  std::optional<std::uint64_t> last_live_between(std::uint64_t lowest, std::uint64_t address) const;
  PageEntry& make_entry(std::uint64_t page);
  std::uint64_t* find_slowly(Place place);
  std::uint64_t& claim_slowly(Place place);
  std::uint64_t& claim_sparse(PageEntry& page_entry, Place place);
  void remember(std::uint64_t page, FullLeaf* leaf) { cache_[page % kCachedPages] = {page, leaf->words}; }
  void shrink_leaves();
  template <typename Visit>
  void for_each_entry(Visit&& visit) const;

  ZeroedPages<Middle*> top_;
  std::deque<ZeroedPages<Middle>> middles_;
  std::array<Cached, kCachedPages> cache_;
  std::vector<std::uint32_t> used_tops_;
  Pool<SparseLeaf> sparse_leaves_;
  Pool<FullLeaf> full_leaves_;
  std::uint64_t full_count_ = 0;
  std::uint64_t shrink_at_;
  std::uint64_t table_bytes_ = 0;
  std::uint64_t slow_visits_ = 0;
};

template <typename Visit>
void BlockMap::for_each_entry(Visit&& visit) const {
  for (std::uint32_t top : used_tops_) {
    const Middle* middle = top_[top];
    middle->for_each_region([&](std::uint64_t m) {
      Region* region = middle->regions[m];
      for (std::uint64_t p = 0; p < (1u << kRegionBits); ++p) {
        if (region->pages[p]) visit((std::uint64_t{top} << kMiddleBits | m) << kRegionBits | p, region->pages[p]);
      }
    });
  }
}

template <typename Visit>
void BlockMap::for_each_live(Visit&& visit) const {
  for_each_entry([&](std::uint64_t page, PageEntry entry) {
    if (entry & kSparse) {
      const SparseLeaf* leaf = sparse(entry);
      for (std::uint8_t i = 0; i < leaf->used; ++i) {
        if (is_live(leaf->words[i])) visit(Place::address(page, leaf->slots[i]), leaf->words[i]);
      }
      return;
    }
    const FullLeaf* leaf = full(entry);
    for (std::uint32_t slot = 0; slot < (1u << kSlotBits); ++slot) {
      if (is_live(leaf->words[slot])) visit(Place::address(page, slot), leaf->words[slot]);
    }
  });
}

}  // namespace tare::core
