// The memory of one shard's atoms: slabs in the process' range, filled from the start, with lists of freed blocks.
//
// Slabs are small while the shard is small (512 bytes at first, then a 16th of its size, later a 32nd, up to 64 KiB),
// because each of the 16 shards has one that is partly filled: with 16 KiB each, a table of 10,000 atoms takes 7 bytes
// more an atom. A shard's first 16 KiB are in slabs below a page, which share pages that the table carves (TablePages).
// A text of more than kLargeBytes has a slab of its own.
//
// Not thread-safe: the shard's lock protects it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "lib/atoms/block.h"
#include "lib/atoms/table_pages.h"
#include "tare/atom_table.h"
#include "tare/cage.h"

namespace tare::inline TARE_ABI {

class AtomSlabs {
 public:
  // A block, poisoned. Null if there is no memory: then error() has the reason.
  std::byte* allocate(std::size_t block_bytes, TablePages& pages) {
    if (filled_lists_ == 0 && block_bytes <= kLargeBytes) {
      if (std::byte* memory = fill(block_bytes)) return memory;
    }
    return allocate_elsewhere(block_bytes, pages);
  }
  AtomError error() const { return error_; }

  // Turns the blocks without references, old and new, into free space; slabs without atoms are freed according to
  // `freed`.
  void reclaim(TablePages& pages, FreedPages freed);

  // Calls visit(block) for every block, free ones too, and slab(bytes of the slab, bytes of it in blocks).
  template <class Visit, class VisitSlab>
  void walk(Visit&& visit, VisitSlab&& slab) const;

  // Takes the table's reference from every unused atom, which makes it dead. No thread may be able to find one
  // meanwhile.
  struct Killed {
    std::size_t dead = 0;
    std::size_t left = 0;
  };
  Killed kill_unused();

  std::size_t mapped_bytes() const { return mapped_bytes_; }  // slabs of whole pages

  // When the table is destroyed: frees slabs without atoms and leaves the rest without an owner. True if nothing is
  // left.
  bool abandon();

 private:
  static constexpr std::size_t kMostSlabBytes = 64 * 1024;
  static constexpr std::size_t kMostSmallBytes = 16 * 1024;  // of a shard in small slabs; then whole pages
  static constexpr std::size_t kLargeBytes = 32 * 1024;
  static constexpr std::size_t kListedBytes = 256;  // free blocks below have a list for each size
  static constexpr std::size_t kLists = kListedBytes / AtomBlock::kUnit + 1;
  static constexpr int kTries = 8;  // of the last list, where not every block fits

  // At the start of every slab. The blocks follow.
  struct Slab {
    std::uint32_t next;        // handle; 0 ends the list
    std::uint32_t size_units;  // of 8 bytes
    std::uint32_t fill_units;  // where the blocks end, this header included
    std::uint16_t is_small;    // carved from a page of several
    std::uint16_t is_empty;    // the last walk found no atom in it
  };
  static_assert(sizeof(Slab) == 16);

  static Slab* slab_at(std::uint32_t handle) { return reinterpret_cast<Slab*>(AtomBlock::at(handle)); }
  static std::byte* begin_of(Slab* slab) { return reinterpret_cast<std::byte*>(slab) + sizeof(Slab); }
  static std::byte* end_of(Slab* slab) {
    return reinterpret_cast<std::byte*>(slab) + std::size_t{slab->fill_units} * AtomBlock::kUnit;
  }
  static std::size_t bytes_of(const Slab* slab) { return std::size_t{slab->size_units} * AtomBlock::kUnit; }

  static std::size_t list_for(std::size_t bytes) {
    return (bytes < kListedBytes ? bytes : kListedBytes) / AtomBlock::kUnit;
  }

  void add_free(std::byte* memory, std::size_t bytes);
  std::byte* take_free(std::size_t bytes);
  std::byte* split(SharedHeader* block, std::size_t bytes);
  std::byte* allocate_elsewhere(std::size_t block_bytes, TablePages& pages);

  // From the slab that is being filled. The rest behind it must be empty or a block.
  std::byte* fill(std::size_t bytes) {
    if (filling_ == 0) return nullptr;
    Slab* slab = slab_at(filling_);
    const std::size_t left = bytes_of(slab) - std::size_t{slab->fill_units} * AtomBlock::kUnit;
    if (left != bytes && left < bytes + AtomBlock::kLeastBytes) return nullptr;
    std::byte* memory = end_of(slab);
    slab->fill_units += static_cast<std::uint32_t>(bytes / AtomBlock::kUnit);
    return memory;
  }
  bool add_slab(std::size_t block_bytes, TablePages& pages);
  CageResult<PageRun> memory_for_slab(std::size_t least, TablePages& pages, bool& is_small);
  Slab* link_slab(const PageRun& run, bool is_small);
  void close_filling();
  void return_slab(Slab* slab, TablePages& pages, FreedPages freed);

  std::uint32_t first_ = 0;    // all slabs
  std::uint32_t filling_ = 0;  // the one that is being filled
  std::uint64_t filled_lists_ = 0;
  std::size_t mapped_bytes_ = 0;
  std::size_t slab_bytes_ = 0;
  AtomError error_ = AtomError::None;
  std::array<std::uint32_t, kLists> free_{};
  static_assert(kLists <= 64);
};

template <class Visit, class VisitSlab>
void AtomSlabs::walk(Visit&& visit, VisitSlab&& visit_slab) const {
  for (std::uint32_t handle = first_; handle != 0;) {
    Slab* slab = slab_at(handle);
    std::byte* const end = end_of(slab);
    for (std::byte* at = begin_of(slab); at < end;) {
      auto* block = reinterpret_cast<SharedHeader*>(at);
      visit(block);
      at += AtomBlock::bytes_of(block);
    }
    visit_slab(bytes_of(slab), static_cast<std::size_t>(end - begin_of(slab)));
    handle = slab->next;
  }
}

}  // namespace tare::inline TARE_ABI
