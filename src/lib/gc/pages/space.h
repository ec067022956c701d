// The cage of a group of heaps, and the tables beside it: a Page for 64 KiB, and two bits for 16 bytes, or three.
//
// All are indexed from the decoding's origin, so that the bits of a Member are nearly the index. Tables are mapped
// whole and touched where the cage is used: for 1 MiB of cells, 16 KiB of bits and 1 KiB of pages.
//
// Thread-safety: entries belong to the heap that owns the unit. Taking and freeing pages may be done by any thread.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "lib/gc/pages/page.h"
#include "tare/cage.h"
#include "tare/gc/barrier.h"
#include "tare/gc/decoding.h"
#include "tare/gc/heap.h"

namespace tare::inline TARE_ABI::gc {

class Space {
 public:
  // The space of a group's slot, made if it is the first time. It stays for the rest of the process. Error: SlotTaken.
  using GroupTraits = HeapBase::GroupTraits;
  static CageResult<Space*> of_group(const GroupTraits& group) noexcept;
  // The same, or null if there is none yet.
  static Space* at(std::size_t slot) noexcept;
  // The space whose cage contains the address; null if none.
  static Space* containing(const void* address) noexcept;

  Space(std::size_t slot, Cage&& cage, const DecodingShape& shape, Page* pages, std::uint64_t* marks,
        std::uint64_t* used, std::uint64_t* old_places) noexcept;

  std::size_t slot() const noexcept { return slot_; }

  const DecodingShape& shape() const noexcept { return shape_; }
  Cage& cage() noexcept { return cage_; }
  bool contains(std::uintptr_t address) const noexcept { return address - cage_begin_ < cage_bytes_; }

  std::uint32_t unit_of(std::uintptr_t address) const noexcept {
    return static_cast<std::uint32_t>((address - shape_.origin) / cell::kUnitBytes);
  }
  std::uintptr_t address_of(std::uint32_t unit) const noexcept { return shape_.origin + unit * cell::kUnitBytes; }
  Page& page(std::uint32_t unit) noexcept { return pages_[unit]; }
  // The page whose units contain the address.
  Page& page_around(std::uintptr_t address) noexcept {
    Page& page = pages_[unit_of(address)];
    return page.kind == Page::Kind::Tail ? pages_[page.first_unit] : page;
  }
  std::uint32_t unit_of(const Page& page) const noexcept { return static_cast<std::uint32_t>(&page - pages_); }

  // Granules of 8 bytes from the origin.
  std::uint32_t granule_of(std::uintptr_t object) const noexcept {
    return static_cast<std::uint32_t>((object - shape_.origin) / cell::kGranuleBytes);
  }
  std::uintptr_t object_at(std::uint32_t granule) const noexcept {
    return shape_.origin + std::uintptr_t{granule} * cell::kGranuleBytes;
  }

  static std::uint32_t unit_of_granule(std::uint32_t granule) noexcept {
    return granule / static_cast<std::uint32_t>(cell::kUnitBytes / cell::kGranuleBytes);
  }
  std::size_t end_granule() const noexcept { return (cage_begin_ + cage_bytes_ - shape_.origin) / cell::kGranuleBytes; }

  // Bits of objects, one for 16 bytes: 64 words for a unit.
  static constexpr std::size_t kWordsOfUnit = cell::kUnitBytes / cell::kMarkGranuleBytes / 64;
  std::uint64_t* marks() noexcept { return marks_; }
  std::uint64_t* used() noexcept { return used_; }
  std::uint64_t* old_places() noexcept { return old_places_; }  // see barrier_details::OldPlaces; null: nothing is old
  std::size_t bit_of(std::uintptr_t object) const noexcept {
    return (object - shape_.origin) / cell::kMarkGranuleBytes;
  }
  bool is_marked(std::uintptr_t object) const noexcept { return test(marks_, bit_of(object)); }
  // True if it wasn't marked.
  bool mark(std::uintptr_t object) noexcept {
    const std::size_t bit = bit_of(object);
    const bool was = test(marks_, bit);
    marks_[bit / 64] |= std::uint64_t{1} << (bit % 64);
    return !was;
  }
  // The same while another thread marks, too.
  bool mark_shared(std::uintptr_t object) noexcept {
    const std::size_t bit = bit_of(object);
    const std::uint64_t mask = std::uint64_t{1} << (bit % 64);
    const std::atomic_ref<std::uint64_t> word(marks_[bit / 64]);
    if ((word.load(std::memory_order_relaxed) & mask) != 0) return false;
    return (word.fetch_or(mask, std::memory_order_relaxed) & mask) == 0;
  }
  void unmark(std::uintptr_t object) noexcept {
    const std::size_t bit = bit_of(object);
    marks_[bit / 64] &= ~(std::uint64_t{1} << (bit % 64));
  }
  static bool test(const std::uint64_t* bits, std::size_t bit) noexcept {
    return (bits[bit / 64] >> (bit % 64) & 1) != 0;
  }

  // `bytes` of the cage, from a unit's start. The entries of its units are the heap's then; of the first, all but
  // heap, kind, first_unit, units and run_bytes is as it was.
  CageResult<std::uint32_t> take(std::size_t bytes, HeapImpl& heap, Page::Kind kind) noexcept;
  void give_back(std::uint32_t first_unit) noexcept;

 private:
  std::size_t slot_;
  Cage cage_;
  DecodingShape shape_;
  std::uintptr_t cage_begin_;
  std::size_t cage_bytes_;
  Page* pages_;
  std::uint64_t* marks_;
  std::uint64_t* used_;
  std::uint64_t* old_places_;
};

}  // namespace tare::inline TARE_ABI::gc
