// A snapshot: facts about the live blocks at one instant, at the exit, near the peak, or on request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/model/ids.h"
#include "trace/model/moment_kind.h"

namespace tare::trace {

enum class BlockContent : std::uint8_t {
  Unread = 0,
  Zeros = 1,
  Text = 2,  // UTF-8 without control characters up to trailing zeros
  Other = 3,
};

// How conservative marking from globals, stacks, registers and thread-local storage came to a block.
enum class Reach : std::uint8_t {
  Unknown = 0,
  None = 1,      // not at all
  Interior = 2,  // only over pointers into the middle of a block, of this one or of one on every way to it
  Start = 3,     // over pointers to starts of blocks
};

inline constexpr std::uint32_t kNoObservation = ~0u;

// The purpose of a part of a process's memory.
enum class MemoryKind : std::uint8_t {
  Heap = 1,     // malloc's: the break, and mappings with live blocks in them
  Stack = 2,    // of threads
  File = 3,     // programs, libraries, mapped files
  Mapping = 4,  // the program's own mmap, without blocks of malloc
  Recorder = 5,
  Other = 6,
};
inline constexpr MemoryKind kLastMemoryKind = MemoryKind::Other;

struct MemoryPart {
  MemoryKind kind = MemoryKind::Other;
  std::string name;  // a file's path; empty for the others
  std::uint64_t mapped_bytes = 0;
  std::uint64_t resident_bytes = 0;
  std::uint64_t touched_bytes = 0;  // of those: read or written since the moment before, or the start

  bool operator==(const MemoryPart&) const = default;
};

// One live block. Unknown facts are empty, kNoObservation, or the enumerator Unknown.
struct Observation {
  std::uint64_t address = 0;
  std::uint64_t digest = 0;                       // see src/trace/file/FORMAT.md; meaningless if content is Unread
  std::optional<std::uint64_t> high_water_bytes;  // end of the bytes ever written; needs content recording
  std::optional<std::uint64_t> unchanged_ns;      // the contents are those of a moment so long ago
  ShapeId shape = kNoShape;                       // kNoShape: older than the trace (a forked child's)
  std::uint32_t start_pointers = 0;               // words that hold the address of a live block
  std::uint32_t interior_pointers = 0;            // words that hold an address inside one
  // Index of the block that a leak hangs on, its own for that one itself; kNoObservation: not a leak.
  std::uint32_t leak_root = kNoObservation;
  BlockContent content = BlockContent::Unread;
  Reach reach = Reach::Unknown;

  bool operator==(const Observation&) const = default;
};

struct Moment {
  MomentKind kind = MomentKind::Exit;
  std::uint64_t stamp = 0;
  // It comes after that many event records of the trace in their merged order.
  std::uint64_t events_before = 0;
  std::uint64_t frozen_ns = 0;      // that long the program stood still
  std::uint64_t cost_ns = 0;        // CPU time that the launcher spent on it
  std::uint64_t root_bytes = 0;     // memory outside the heap that was searched for pointers
  std::uint64_t unread_bytes = 0;   // of live blocks that couldn't be read
  std::uint64_t absent_bytes = 0;   // of live blocks: whole pages that are untouched or swapped out
  bool touches_known = false;       // touched_bytes of `memory` are of the time since the moment before
  std::string name;                 // from the request
  std::vector<MemoryPart> memory;   // largest first; empty: not read
  std::vector<Observation> blocks;  // by address, ascending

  bool operator==(const Moment&) const = default;
};

}  // namespace tare::trace
