// Metadata of 64 KiB of a cage: the heap and the cells.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tare/internal/gc/cell.h"

namespace tare::inline TARE_ABI::gc {

class HeapImpl;

// A page of cells has one or several units, a large object's as many as it needs. Threads other than the heap's read
// `heap`; a marking thread also reads the fields that locate a cell: these are written before there are objects in it.
struct alignas(64) Page {
  enum class Kind : std::uint8_t {
    None,
    Cells,
    Large,
    Tail,  // of the page that begins at first_unit
  };

  std::atomic<HeapImpl*> heap{nullptr};
  Kind kind = Kind::None;
  bool has_destructors = false;
  bool needs_sweep = false;  // marks are of the last collection, not yet taken over, and the dead aren't finalized
  std::uint8_t size_class = 0;
  std::uint32_t first_unit = 0;
  std::uint32_t next = 0;  // unit of another page of the same list; 0: none
  std::uint32_t units = 0;
  std::uint32_t cell_bytes = 0;
  std::uint32_t cells_a_byte = 0;  // times 2^kReciprocalShift, rounded up
  std::uint32_t cells = 0;
  std::uint32_t cursor = 0;      // cells below were all handed out; above, those with a used bit
  std::uint32_t hole_begin = 0;  // but for these, which were taken back before they became objects
  std::uint32_t hole_end = 0;
  std::uint32_t live_cells = 0;  // of the last collection
  bool is_changed = true;        // since the last collection cells were taken or freed; always, if nothing is old
  bool is_movable = false;       // Finalization::Movable
  std::uint16_t discarded = 0;   // of the unit, in kDiscardedBytes: free parts that were released to the kernel
  std::size_t run_bytes = 0;     // of the cage's run
};
static_assert(sizeof(Page) == 64);

inline constexpr std::size_t kDiscardedBytes = std::size_t{4} << 10;  // a bit of Page::discarded
static_assert(cell::kUnitBytes / kDiscardedBytes == 16);

// Which cell an offset lies in, by a multiplication. Exact: rounding up adds less than offset * cell_bytes, 2^33 at
// most.
inline constexpr int kReciprocalShift = 35;
static_assert(cell::kLargeUnits * cell::kUnitBytes * cell::kMost <= std::size_t{1} << 33);
static_assert((std::uint64_t{1} << kReciprocalShift) / cell::kLeast <= UINT32_MAX);

}  // namespace tare::inline TARE_ABI::gc
