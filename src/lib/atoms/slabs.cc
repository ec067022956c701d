#include "lib/atoms/slabs.h"

#include <algorithm>
#include <bit>

#include "lib/atoms/range.h"

namespace tare::inline TARE_ABI {

void AtomSlabs::add_free(std::byte* memory, std::size_t bytes) {
  const std::size_t list = list_for(bytes);
  AtomBlock::make_free(memory, bytes, free_[list]);
  free_[list] = AtomBlock::handle_of(memory);
  filled_lists_ |= std::uint64_t{1} << list;
}

// Gives the first `bytes` of a free block that was taken off its list, and the rest back.
std::byte* AtomSlabs::split(SharedHeader* block, std::size_t bytes) {
  auto* memory = reinterpret_cast<std::byte*>(block);
  const std::size_t left = AtomBlock::bytes_of(block) - bytes;
  if (left > 0) add_free(memory + bytes, left);
  return memory;
}

std::byte* AtomSlabs::take_free(std::size_t bytes) {
  if (filled_lists_ == 0) return nullptr;
  // Exactly that size, or one that leaves a block which isn't too small.
  const std::size_t list = list_for(bytes);
  std::uint64_t fitting = bytes < kListedBytes ? filled_lists_ >> list << list : 0;
  fitting &= ~(std::uint64_t{1} << (list + 1)) & ~(std::uint64_t{1} << (kLists - 1));
  if (fitting != 0) {
    const auto found = static_cast<std::size_t>(std::countr_zero(fitting));
    SharedHeader* block = AtomBlock::at(free_[found]);
    free_[found] = AtomBlock::next_free(block);
    if (free_[found] == 0) filled_lists_ &= ~(std::uint64_t{1} << found);
    return split(block, bytes);
  }
  std::uint32_t previous = 0;
  std::uint32_t handle = free_[kLists - 1];
  for (int i = 0; i < kTries && handle != 0; ++i) {
    SharedHeader* block = AtomBlock::at(handle);
    const std::uint32_t next = AtomBlock::next_free(block);
    const std::size_t has = AtomBlock::bytes_of(block);
    if (has == bytes || has >= bytes + AtomBlock::kLeastBytes) {
      if (previous == 0) {
        free_[kLists - 1] = next;
      } else {
        auto* before = reinterpret_cast<std::byte*>(AtomBlock::at(previous));
        AtomBlock::make_free(before, AtomBlock::bytes_of(AtomBlock::at(previous)), next);
      }
      if (free_[kLists - 1] == 0) filled_lists_ &= ~(std::uint64_t{1} << (kLists - 1));
      return split(block, bytes);
    }
    poison(block->characters(), sizeof(std::uint32_t));
    previous = handle;
    handle = next;
  }
  return nullptr;
}

// Turns the rest of the slab that was being filled into a free block.
void AtomSlabs::close_filling() {
  if (filling_ == 0) return;
  Slab* slab = slab_at(filling_);
  const std::size_t left = bytes_of(slab) - std::size_t{slab->fill_units} * AtomBlock::kUnit;
  std::byte* memory = end_of(slab);
  slab->fill_units = slab->size_units;
  if (left > 0) add_free(memory, left);
  filling_ = 0;
}

AtomSlabs::Slab* AtomSlabs::link_slab(const PageRun& run, bool is_small) {
  unpoison(run.data, sizeof(Slab));
  poison(run.data + sizeof(Slab), run.size_bytes - sizeof(Slab));
  auto* slab = new (run.data) Slab{first_, static_cast<std::uint32_t>(run.size_bytes / AtomBlock::kUnit),
                                   sizeof(Slab) / AtomBlock::kUnit, static_cast<std::uint16_t>(is_small ? 1 : 0), 0};
  first_ = AtomBlock::handle_of(slab);
  slab_bytes_ += run.size_bytes;
  if (!is_small) mapped_bytes_ += run.size_bytes;
  return slab;
}

CageResult<PageRun> AtomSlabs::memory_for_slab(std::size_t least, TablePages& pages, bool& is_small) {
  const auto round_up = [](std::size_t n, std::size_t unit) { return (n + unit - 1) & ~(unit - 1); };
  const std::size_t page = atom_range::page_bytes();
  is_small = slab_bytes_ < kMostSmallBytes && least <= page / 2;
  if (!is_small) {
    return pages.allocate(round_up(std::max(least, std::min(kMostSlabBytes, slab_bytes_ / 32)), page));
  }
  const std::size_t wanted = round_up(std::max(least, slab_bytes_ / 16), TablePages::kSmallGrain);
  CageResult<PageRun> run = pages.allocate_small(wanted);
  if (!run || run.value().size_bytes >= least) return run;
  // The end of a page: of use to smaller atoms.
  Slab* rest = link_slab(run.value(), true);
  rest->fill_units = rest->size_units;
  add_free(begin_of(rest), run.value().size_bytes - sizeof(Slab));
  return pages.allocate_small(wanted);
}

bool AtomSlabs::add_slab(std::size_t block_bytes, TablePages& pages) {
  bool is_small = false;
  const CageResult<PageRun> run = memory_for_slab(sizeof(Slab) + block_bytes + AtomBlock::kLeastBytes, pages, is_small);
  if (!run) {
    error_ = run.error() == CageError::Exhausted ? AtomError::RangeFull : AtomError::NoMemory;
    return false;
  }
  link_slab(run.value(), is_small);
  if (block_bytes > kLargeBytes) return true;
  close_filling();
  filling_ = first_;
  return true;
}

std::byte* AtomSlabs::allocate_elsewhere(std::size_t block_bytes, TablePages& pages) {
  if (block_bytes <= kLargeBytes) {
    if (std::byte* memory = take_free(block_bytes)) return memory;
    if (std::byte* memory = fill(block_bytes)) return memory;
    if (!add_slab(block_bytes, pages)) return nullptr;
    return fill(block_bytes);
  }
  if (!add_slab(block_bytes, pages)) return nullptr;
  Slab* slab = slab_at(first_);
  slab->fill_units += static_cast<std::uint32_t>(block_bytes / AtomBlock::kUnit);
  return begin_of(slab);
}

AtomSlabs::Killed AtomSlabs::kill_unused() {
  Killed killed;
  for (std::uint32_t handle = first_; handle != 0;) {
    Slab* slab = slab_at(handle);
    std::byte* const end = end_of(slab);
    const std::size_t left_before = killed.left;
    for (std::byte* at = begin_of(slab); at < end;) {
      auto* block = reinterpret_cast<SharedHeader*>(at);
      at += AtomBlock::bytes_of(block);
      const std::uint32_t references = AtomBlock::references(block);
      if (references == 1) {
        AtomBlock::kill(block);
        ++killed.dead;
      } else if (references != 0) {
        ++killed.left;
      }
    }
    slab->is_empty = killed.left == left_before ? 1 : 0;
    handle = slab->next;
  }
  return killed;
}

void AtomSlabs::reclaim(TablePages& pages, FreedPages freed) {
  free_.fill(0);
  filled_lists_ = 0;
  std::uint32_t* link = &first_;
  while (*link != 0) {
    const std::uint32_t handle = *link;
    Slab* slab = slab_at(handle);
    std::byte* const end = end_of(slab);
    if (slab->is_empty != 0 && slab->is_small == 0) {
      *link = slab->next;
      if (filling_ == handle) filling_ = 0;
      return_slab(slab, pages, freed);
      continue;
    }
    std::byte* gap = nullptr;  // start of the free blocks up to here
    for (std::byte* at = begin_of(slab); at < end;) {
      auto* block = reinterpret_cast<SharedHeader*>(at);
      const std::size_t bytes = AtomBlock::bytes_of(block);
      const bool is_gone = AtomBlock::is_free(block);
      if (is_gone && gap == nullptr) gap = at;
      if (!is_gone && gap != nullptr) {
        add_free(gap, static_cast<std::size_t>(at - gap));
        gap = nullptr;
      }
      at += bytes;
    }
    if (gap != nullptr && filling_ == handle) {
      slab->fill_units -= static_cast<std::uint32_t>(static_cast<std::size_t>(end - gap) / AtomBlock::kUnit);
      poison(gap, static_cast<std::size_t>(end - gap));
    } else if (gap != nullptr) {
      add_free(gap, static_cast<std::size_t>(end - gap));
    }
    link = &slab->next;
  }
}

void AtomSlabs::return_slab(Slab* slab, TablePages& pages, FreedPages freed) {
  const PageRun run{reinterpret_cast<std::byte*>(slab), bytes_of(slab), PageRun::Contents::Stale};
  mapped_bytes_ -= run.size_bytes;
  slab_bytes_ -= run.size_bytes;
  unpoison(run.data, run.size_bytes);
  pages.free(run, freed);
}

bool AtomSlabs::abandon() {
  bool is_empty = true;
  for (std::uint32_t handle = first_; handle != 0; handle = slab_at(handle)->next) {
    Slab* slab = slab_at(handle);
    if (slab->is_small == 0) {
      atom_range::abandon({reinterpret_cast<std::byte*>(slab), bytes_of(slab), PageRun::Contents::Stale});
      is_empty = false;
    } else {
      for (std::byte* at = begin_of(slab); at < end_of(slab);) {
        const auto* block = reinterpret_cast<const SharedHeader*>(at);
        if (!AtomBlock::is_free(block)) is_empty = false;
        at += AtomBlock::bytes_of(block);
      }
    }
  }
  return is_empty;
}

}  // namespace tare::inline TARE_ABI
