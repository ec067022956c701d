// How many words an event in a chunk takes, as spool_event.h lays them out.
#pragma once

#include <cstdint>

#include "trace/spool/spool_event.h"

namespace tare::trace {

constexpr std::uint64_t frame_words(std::uint64_t word) { return ((word >> W0::kFreshShift & W0::kCountMask) + 1) / 2; }

// Of the event at `event`, of which `available` words may be read. 0: no event, or one that isn't there as a whole.
constexpr std::uint64_t event_words(const std::uint64_t* event, std::uint64_t available) {
  if (available < 2) return available == 1 && op_of(*event) == Op::Free && (*event & (F0::kStamped | F0::kStack)) == 0;
  const std::uint64_t word0 = event[0];
  const bool is_weighted = (event[1] & W1::kWeighted) != 0;
  const bool has_usable = (word0 & W0::kUsableWord) != 0;
  const std::uint64_t stamps = (word0 & W0::kStamped) != 0;
  std::uint64_t words = 0;
  switch (op_of(word0)) {
    case Op::Alloc:
      words = 3 + has_usable + is_weighted + stamps + frame_words(word0);
      break;
    case Op::Realloc:
      words = 4 + has_usable + is_weighted + 2 * stamps + frame_words(word0);
      break;
    case Op::Map:
      words = 5 + ((word0 & W0::kStampBefore) != 0 ? 2 * stamps : stamps) + frame_words(word0);
      break;
    case Op::Free:
      words = 1 + stamps;
      if ((word0 & F0::kStack) != 0) words = words < available ? words + 1 + frame_words(event[words]) : 0;
      break;
    case Op::Contents:
      words = 3 + stamps;
      break;
    case Op::PoolGrow:
    case Op::PoolAlloc:
    case Op::ReportSite:
    case Op::FailedRequest:
      words = 3 + stamps + frame_words(word0);
      break;
    case Op::Pad:
      break;
    default:
      words = 2 + stamps;
  }
  return words <= available ? words : 0;
}

}  // namespace tare::trace
