// A recording's calls to the allocator, ready to be performed against another: the layout of the file between the
// profiler, which writes it (script_writer.h), and tare-perform, which is started with that allocator and performs it.
// Both come from one build, so the file has no versions; the reader still checks all values that it uses.
#pragma once

#include <cstdint>

namespace tare::core {

// The effect of a step on the block in its slot. Every block has a slot from birth to death. A slot is given to another
// block only when the death lies kWindowSteps back, and performing threads stay closer together than that: so a step
// finds in its slot the block that is meant, or nothing yet.
enum class StepKind : std::uint64_t {
  Malloc = 0,
  Calloc = 1,
  Aligned = 2,
  Free = 3,
  ReallocFrom = 4,  // the next step of this thread is ReallocTo; bytes: the old size
  ReallocTo = 5,
  // In rewritten scripts (rewrite_rules.h):
  KeptTo = 6,   // instead of ReallocTo: the block has room for `bytes` already, and is written that far
  Touch = 7,    // writes at offset `bytes` of the block in the slot; only this thread allocates and frees that block
  Nothing = 8,  // the call is avoided; bytes: 0
  FreedAtOnce = 9,  // Malloc and Free
  FreedTo = 10,     // instead of ReallocTo: the block is freed
  Avoided = 11,     // instead of Malloc: no block, and its Free does nothing
};

// 16 bytes, one call (two for realloc). `order` counts the steps of all threads; within a thread it ascends.
struct Step {
  // bits 0..39 requested bytes, 40..43 StepKind, 44..48 log2 of the alignment, 49..63 written share
  std::uint64_t what;
  std::uint32_t slot;
  std::uint32_t order;

  static constexpr std::uint64_t kMostBytes = (std::uint64_t{1} << 40) - 1;
  static constexpr std::uint64_t kMostAlignLog2 = 31;
  static constexpr std::uint64_t kWholeShare = (std::uint64_t{1} << 15) - 1;  // of the bytes: all were written

  static constexpr std::uint64_t pack(StepKind kind, std::uint64_t bytes, std::uint64_t align_log2 = 0,
                                      std::uint64_t share = kWholeShare) {
    return bytes | static_cast<std::uint64_t>(kind) << 40 | align_log2 << 44 | share << 49;
  }
  constexpr std::uint64_t bytes() const { return what & kMostBytes; }
  constexpr StepKind kind() const { return static_cast<StepKind>(what >> 40 & 15); }
  constexpr std::uint64_t align_log2() const { return what >> 44 & 31; }
  // Never less than was written: the share is rounded up when packed, and so are the bytes.
  constexpr std::uint64_t written_bytes() const {
    const unsigned __int128 scaled = static_cast<unsigned __int128>(bytes()) * share();
    return static_cast<std::uint64_t>((scaled + kWholeShare - 1) / kWholeShare);
  }
  static constexpr std::uint64_t share_of(std::uint64_t written, std::uint64_t bytes) {
    if (written >= bytes) return kWholeShare;
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(written) * kWholeShare + bytes - 1) / bytes);
  }
  static constexpr std::uint64_t with_share(std::uint64_t what, std::uint64_t share) {
    return (what & ((std::uint64_t{1} << 49) - 1)) | share << 49;
  }
  constexpr std::uint64_t share() const { return what >> 49; }
};
static_assert(sizeof(Step) == 16);

// One thread of the recording: its steps lie in chunks of kChunkSteps, the last one shorter.
struct ScriptThread {
  std::uint64_t first_chunk;  // index into the table of chunks' offsets
  std::uint64_t step_count;
  std::uint32_t first_order;  // it is started when the others have come about here
  std::uint32_t reserved;
};

struct ScriptHeader {
  std::uint64_t magic;
  std::uint64_t step_count;
  std::uint64_t slot_count;
  std::uint64_t thread_count;
  std::uint64_t peak_order;  // before the step of this order, most requested bytes were live
  std::uint64_t peak_requested_bytes;
  std::uint64_t threads_offset;  // ScriptThread[thread_count]; the first is the program's main thread
  std::uint64_t chunk_count;
  std::uint64_t chunks_offset;  // std::uint64_t[chunk_count]: where each chunk lies
  std::uint64_t time_count;
  std::uint64_t times_offset;  // std::uint64_t[time_count]: ns of each kTimedSteps-th step since the first
};

inline constexpr std::uint64_t kScriptMagic = 0x31747069726373ull;  // "script1"
inline constexpr std::uint64_t kChunkSteps = 1024;
// How far threads may be apart. Large enough that threads seldom wait, and small enough that the live blocks differ
// little from the recording: at a hundred bytes a call by less than a megabyte.
inline constexpr std::uint64_t kWindowSteps = 8192;
inline constexpr std::uint64_t kTimedSteps = 1024;

}  // namespace tare::core
