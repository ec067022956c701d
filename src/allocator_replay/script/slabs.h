// Slabs that serve the blocks of a group in place of the allocator. A thread has its own: it alone takes cells from
// them, writes to them and frees them, so that no other thread can free a slab which this one is about to write to.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace tare::core {

class Slabs {
 public:
  static constexpr std::uint64_t kSlabBytes = 32 << 10;
  static constexpr std::uint64_t kMostCellBytes = kSlabBytes / 16;  // beyond, a header is below half a percent
  static constexpr std::uint64_t kAlignBytes = 8;

  struct Pool {
    std::uint32_t group;
    std::uint32_t thread;
    std::uint64_t cell_bytes;
    auto operator<=>(const Pool&) const = default;
  };
  struct Cell {
    std::uint32_t slab;
    std::uint32_t offset;
  };

  static constexpr std::uint64_t cell_bytes(std::uint64_t requested) {
    return requested == 0 ? kAlignBytes : (requested + kAlignBytes - 1) / kAlignBytes * kAlignBytes;
  }

  // A cell of the pool's slabs, if one is free: the one that was freed last.
  std::optional<Cell> take(const Pool& pool);
  // The first cell of a new slab, which lies in `slot`.
  Cell add_slab(const Pool& pool, std::uint32_t slot);
  // By any thread. Gives the slot of the slab if it is to be freed: it is empty, the pool has another empty one (else a
  // block that comes and goes would take a slab each time), and `thread` owns it.
  std::optional<std::uint32_t> free_cell(Cell cell, std::uint32_t thread);
  // The slot of a slab that is to be freed because another thread freed its last cell.
  std::optional<std::uint32_t> take_empty(const Pool& pool);

  std::uint32_t slot_of(std::uint32_t slab) const { return slabs_[slab].slot; }

 private:
  struct Slab {
    Pool pool;
    std::uint32_t slot;
    std::uint32_t used = 0;     // cells
    std::uint32_t reached = 0;  // bytes; behind, no cell was ever taken
    bool is_listed = false;     // among its pool's slabs with room
    bool is_gone = false;
    std::vector<std::uint32_t> free_offsets;
  };
  struct PoolState {
    std::vector<std::uint32_t> with_room;
    std::uint32_t empty_slabs = 0;
    std::vector<std::uint32_t> emptied_by_others;
  };

  bool has_room(const Slab& slab) const {
    return !slab.free_offsets.empty() || slab.reached + slab.pool.cell_bytes <= kSlabBytes;
  }
  Cell take_from(std::uint32_t slab);
  std::uint32_t remove(Slab& slab, PoolState& pool);

  std::vector<Slab> slabs_;
  std::map<Pool, PoolState> pools_;
};

}  // namespace tare::core
