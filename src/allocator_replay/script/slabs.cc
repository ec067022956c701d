#include "allocator_replay/script/slabs.h"

namespace tare::core {

std::optional<Slabs::Cell> Slabs::take(const Pool& pool) {
  std::vector<std::uint32_t>& with_room = pools_[pool].with_room;
  while (!with_room.empty()) {
    const std::uint32_t last = with_room.back();
    if (!slabs_[last].is_gone && has_room(slabs_[last])) return take_from(last);
    slabs_[last].is_listed = false;
    with_room.pop_back();
  }
  return std::nullopt;
}

Slabs::Cell Slabs::add_slab(const Pool& pool, std::uint32_t slot) {
  const auto slab = static_cast<std::uint32_t>(slabs_.size());
  slabs_.push_back({.pool = pool, .slot = slot, .free_offsets = {}});
  slabs_[slab].is_listed = true;
  pools_[pool].with_room.push_back(slab);
  return take_from(slab);
}

std::optional<std::uint32_t> Slabs::free_cell(Cell cell, std::uint32_t thread) {
  Slab& slab = slabs_[cell.slab];
  PoolState& pool = pools_[slab.pool];
  slab.free_offsets.push_back(cell.offset);
  if (!slab.is_listed) {
    slab.is_listed = true;
    pool.with_room.push_back(cell.slab);
  }
  if (--slab.used != 0 || ++pool.empty_slabs == 1) return std::nullopt;
  if (thread == slab.pool.thread) return remove(slab, pool);
  pool.emptied_by_others.push_back(cell.slab);
  return std::nullopt;
}

std::optional<std::uint32_t> Slabs::take_empty(const Pool& key) {
  PoolState& pool = pools_[key];
  while (!pool.emptied_by_others.empty()) {
    Slab& slab = slabs_[pool.emptied_by_others.back()];
    pool.emptied_by_others.pop_back();
    if (!slab.is_gone && slab.used == 0 && pool.empty_slabs > 1) return remove(slab, pool);
  }
  return std::nullopt;
}

std::uint32_t Slabs::remove(Slab& slab, PoolState& pool) {
  --pool.empty_slabs;
  slab.is_gone = true;
  slab.free_offsets = {};
  return slab.slot;
}

Slabs::Cell Slabs::take_from(std::uint32_t index) {
  Slab& slab = slabs_[index];
  if (slab.used++ == 0 && slab.reached != 0) --pools_[slab.pool].empty_slabs;
  if (!slab.free_offsets.empty()) {
    const std::uint32_t offset = slab.free_offsets.back();
    slab.free_offsets.pop_back();
    return {index, offset};
  }
  const std::uint32_t offset = slab.reached;
  slab.reached += static_cast<std::uint32_t>(slab.pool.cell_bytes);
  return {index, offset};
}

}  // namespace tare::core
