// Events as the recorder writes them into a chunk: 64-bit words, no compression, no strings.
//
// word 0 of every event holds the Op in bits 0..4. Events follow each other without gaps; a chunk ends at `committed`.
// Nothing in a chunk refers to another chunk: its first event with a stack has kept == 0.
//
//   Alloc     w0 | w1 | requested | [usable] | [weight] | [stamp] | frames
//   Realloc   w0 | w1 | requested | [usable] | [weight] | [stamp before, stamp after] | old | frames
//   Free      f0 | [stamp] | [k0 | frames, with kSpoolFreeStacks]
//   Map       w0 | w1 | length | [stamp before] | [stamp] | old address | old length | frames     (api is a MapApi)
//   Contents  n0 | n1 | digest | [stamp]
//   PoolGrow, PoolAlloc, ReportSite   w0 | n1 | bytes | [stamp] | frames         (n1: address and pool, see
//   program_note.h; a ReportSite has no bytes)
//   FailedRequest   w0 | w1 | requested | [stamp] | frames                       (w1 without an address)
//   others    n0 | n1 | [stamp]                                                  (a note: two words and a stamp)
//
// Bracketed words are present if their flag in word 0 is set. Stamp is always the last word before `old`/frames.
// Frames: `fresh` row ids of 32 bits, innermost first, padded to a whole word. The stack is those, then the outermost
// `kept` frames of the stack of the previous event in this chunk that had one.
//
// Stamps: TSC ticks. Alloc: taken after the real call returned. Free: before the real call. Realloc: both. Map: as
// these three where something became mapped, unmapped, or both (with kStampBefore). While a
// thread has seen no second thread (`__libc_single_threaded`), an event is stamped only when >= 0.5 ms have passed
// since the last stamp written in this chunk; an unstamped event has the time of the stamp before it (for the first:
// ChunkControl::open_stamp).
//
// Map, all four calls alike: [w1.address, + length) became mapped and [old address, + old length) became unmapped; a
// length of 0 means neither. mmap: only the first. munmap: only the old. mremap: both. brk: the bytes between the old
// and the new break, as mapped when it grew and as unmapped when it shrank.
#pragma once

#include <cstdint>

#include "trace/model/api.h"

namespace tare::trace {

enum class Op : std::uint8_t {
  Pad = 0,  // never written: a zero word ends a damaged chunk
  Alloc = 1,
  Free = 2,
  Realloc = 3,  // ends `old`, starts w1.address; realloc(NULL, n) is an Alloc, realloc(p, 0) that freed is a Free
  Map = 4,
  ThreadStart = 8,  // note: n1 = kernel tid
  ThreadEnd = 9,    // note
  Fork = 10,        // note: this thread forked, n1 = child's pid (written by the parent, best effort)
  Exec = 11,        // note: this thread is about to exec
  Dropped = 12,     // note: n1 = events this thread lost here; their effects are unknown
  Mark = 13,        // note: n1 = a user's mark (SIGUSR or API); reserved for snapshots
  Usable = 14,      // note: n1 = address (bits 0..47); the program called malloc_usable_size
  // see program_note.h
  Report = 15,        // note: n1 = address, n0 has the path
  ClearReports = 16,  // note
  PoolCreate = 17,    // note: n1 = pool, n0 has the name
  PoolGrow = 18,
  PoolShrink = 19,  // note: n1 = address and pool
  PoolAlloc = 20,
  PoolFree = 21,       // note: n1 = address and pool
  PoolReset = 22,      // note: n1 = pool
  PoolDestroy = 23,    // note: n1 = pool
  Seen = 24,           // note, when sampling: n1 = SeenCounts, of all before this thread's next event
  Contents = 25,       // see ContentsWord
  FailedRequest = 27,  // a call that got no block; the largest size stands for all sizes that don't fit 64 bits
  ReportSite = 28,     // n1 = address that the thread's next event reports
  CallCost = 29,       // note: n1 = ticks that the allocator took for the thread's event just before; see kCostOfFree
  Holders = 30,        // note: n1 = address, n0 has kSeveralHolders
  Amount = 31,         // note: n1 = bytes, n0 has the path; see program_note.h
};

// word 0 of Alloc, Realloc, Map
struct W0 {
  static constexpr std::uint64_t kStamped = 1u << 5;
  // Usable - requested didn't fit 30 bits: another word has the usable bytes.
  static constexpr std::uint64_t kUsableWord = 1u << 6;
  static constexpr std::uint64_t kStampBefore = 1u << 6;  // of a stamped Map: another stamp, of the unmapped part
  static constexpr std::uint64_t kTruncated = 1u << 7;    // outer frames beyond kMaxFrames are missing
  static constexpr int kKeptShift = 8;                    // 13 bits
  static constexpr int kFreshShift = 21;                  // 13 bits
  static constexpr int kSlopShift = 34;                   // 30 bits: usable - requested
  static constexpr std::uint64_t kCountMask = 0x1fff;
  static constexpr std::uint64_t kSlopMask = (1u << 30) - 1;
};

// word 1 of Alloc, Realloc, Map
struct W1 {
  static constexpr std::uint64_t kAddressMask = (std::uint64_t{1} << 48) - 1;
  static constexpr int kAlignShift = 48;  // 6 bits: log2 of the requested alignment; 0: none requested
  static constexpr std::uint64_t kAlignMask = 0x3f;
  static constexpr int kApiShift = 54;  // 5 bits: AllocApi or MapApi
  static constexpr std::uint64_t kApiMask = 0x1f;
  static constexpr std::uint64_t kWeighted = std::uint64_t{1} << 59;  // sampled: a word holds the weight, a double >= 1
};

// word 0 of Free
struct F0 {
  static constexpr std::uint64_t kStamped = 1u << 5;
  static constexpr std::uint64_t kStack = 1u << 6;  // k0 (kept, fresh as in W0) and frames follow
  static constexpr int kApiShift = 8;               // 5 bits: FreeApi
  static constexpr std::uint64_t kApiMask = 0x1f;
  static constexpr int kAddressShift = 16;  // 48 bits
};

// word 0 of notes: Op, kStamped (always set)
struct N0 {
  static constexpr std::uint64_t kStamped = 1u << 5;
};

// In word 0 of CallCost: the event before is a free, not an allocation.
inline constexpr std::uint64_t kCostOfFree = 1u << 6;

// Contents: n0 | n1 = address | n2 = digest, 0 for none | [stamp]. Before the free or realloc that ends the block. It
// counts as one event, whatever it has.
struct ContentsWord {
  static constexpr int kClassShift = 6;  // 2 bits: ContentClass
  static constexpr std::uint64_t kClassMask = 3;
  static constexpr int kUnwrittenShift = 8;  // 48 bits: unwritten bytes at the end
  static constexpr std::uint64_t kUnwrittenMask = (std::uint64_t{1} << 48) - 1;
  static constexpr std::uint64_t kNew = std::uint64_t{1} << 56;  // the digest is of contents not seen before
};

constexpr Op op_of(std::uint64_t word0) { return static_cast<Op>(word0 & 0x1f); }

}  // namespace tare::trace
