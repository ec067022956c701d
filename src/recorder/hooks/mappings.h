// Events of mmap, munmap, mremap and brk.
//
// The unmapped part is stamped before the real call, and the mapped part after it: right after a munmap another thread
// may be given the same pages, and its event must not be older.
#pragma once

#include <cstdint>

#include "recorder/events/record.h"

namespace tare::recorder {

// A mapping made, dropped or moved.
struct Mapping {
  std::uint64_t address;
  std::uint64_t length;  // 0: nothing became mapped
  std::uint64_t old_address;
  std::uint64_t old_length;  // 0: nothing became unmapped
  trace::MapApi api;

  bool is_move() const { return length != 0 && old_length != 0; }
};

// State before a call that unmaps: as for a realloc.
struct UnmapBegin {
  Entry entry;
  bool is_within;  // a foreign allocator's call
  ReallocBegin event;
};
UnmapBegin begin_unmap(const StartState& start);
void end_unmap(const StartState& start, const UnmapBegin& begin, const Mapping& mapping);
void give_up_unmap(const UnmapBegin& begin);  // the call failed

// Of a call that only maps, which has returned.
void record_mapping(const StartState& start, const Mapping& mapping);

// The event up to its frames. `after` is the second stamp of a move, and the only stamp of a call that only maps.
std::uint64_t* put_mapping(std::uint64_t* out, const Mapping& mapping, std::uint64_t bits, const Stamped& before,
                           std::uint64_t after);

}  // namespace tare::recorder
