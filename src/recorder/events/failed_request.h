// Requests that the allocator couldn't serve. They are notes beside the events, for the last one often explains the end
// of a program. All are recorded, also those of a sampling recorder: a failed call is rare and slower than its note.
#pragma once

#include <cstdint>

#include "recorder/base/attributes.h"
#include "recorder/events/record.h"

namespace tare::recorder {

inline constexpr std::uint64_t kMoreThan64Bits = ~std::uint64_t{0};  // a size whose product overflowed

// As newest_block of a thread: its newest request failed.
inline constexpr std::uint64_t kNoBlock = 1;

struct FailedRequest {
  std::uint64_t requested;
  trace::AllocApi api;
  std::uint8_t align_log2;  // 0: none requested
};

// Writes the note if the thread records, and leaves errno as it is. Not inside a foreign allocator's call: the caller
// of that one records the failure.
TARE_COLD void record_failed_request(const StartState& start, std::uint64_t requested, trace::AllocApi api,
                                     std::uint64_t align = 0);
// Ends the hook of a realloc that failed: the block stays as it was.
TARE_COLD void leave_failed_realloc(Thread* thread, const ReallocBegin& begin, const StartState& start,
                                    std::uint64_t requested, trace::AllocApi api);
// Of a thread that is in its hook.
TARE_COLD void write_failed_request(Thread* thread, const StartState& start, const FailedRequest& request);

// All words but the frames.
TARE_INLINE std::uint64_t* put_failed_request(std::uint64_t* out, const FailedRequest& request, std::uint64_t frames,
                                              const Stamped& now) {
  *out++ = static_cast<std::uint64_t>(trace::Op::FailedRequest) | now.flag | frames;
  *out++ = std::uint64_t{request.align_log2} << trace::W1::kAlignShift | static_cast<std::uint64_t>(request.api)
                                                                             << trace::W1::kApiShift;
  *out++ = request.requested;
  if (now.flag != 0) *out++ = now.stamp;
  return out;
}

}  // namespace tare::recorder
