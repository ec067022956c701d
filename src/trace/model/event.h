// The input of replay: decoded events in order of time, with interned stacks and sizes.
#pragma once

#include <cstdint>

#include "trace/model/api.h"
#include "trace/model/ids.h"

namespace tare::trace {

enum class EventKind : std::uint8_t {
  Alloc = 1,
  Free = 2,
  ReallocEnd = 3,    // the old block of a realloc leaves (stamp before the call) ...
  ReallocStart = 4,  // ... and the new one enters (stamp after it), same thread, next event of that thread
  Map = 5,
  Unmap = 6,
  ThreadStart = 8,
  ThreadEnd = 9,
  Fork = 10,  // address = child's pid
  Exec = 11,
  Dropped = 12,  // address = number of events lost
  Mark = 13,
  Usable = 14,  // the program called malloc_usable_size for the block at address
  // Reports of the program through tare/reporter.h. For Report and PoolCreate `shape` is the NameId of a path or name.
  // The shapes of PoolGrow and PoolAlloc are those of mappings: their bytes are requested_bytes. A pool's number stands
  // above bit 47 of the address.
  Report = 15,  // the live block at address belongs to a path; api 1: reported by the allocating call
  ClearReports = 16,
  PoolCreate = 17,
  PoolGrow = 18,  // memory at address is the pool's
  PoolShrink = 19,
  PoolAlloc = 20,  // the pool hands out a block
  PoolFree = 21,
  PoolReset = 22,
  PoolDestroy = 23,
  Seen = 24,  // address = SeenCounts, of all before this thread's next event
  // With contents recorded: the block at address, which its thread's next free or realloc ends, has unwritten bytes at
  // its end. `shape` is their number (not a ShapeId; the greatest means that or more); api: ContentClass.
  Contents = 25,
  Digest = 26,      // address = content_digest() of the block that the note just before is about; seen before
  ReportSite = 28,  // whence this thread's next event, a Report, comes: `shape` has the stack
  // Sampled: so many ticks (address) the allocator took for an allocation of this shape, or with api 1 for the thread's
  // last free.
  CallCost = 29,
  // The live block at address belongs to a kind whose owners are counted; api 1: it has several from now on.
  Holders = 30,
  Amount = 31,  // the program states that the blocks under a path (NameId) have `address` bytes
  // address = short_digest() of the block that its thread's next free ends, whose contents weren't freed before; api:
  // ContentClass, and kDigestOfNote if the block's Contents note follows.
  NewDigest = 32,
  // A call that got no block: api is its AllocApi, `shape` (a mapping's) has its stack, its requested bytes and its
  // alignment. The greatest size stands for all that don't fit 64 bits.
  FailedRequest = 33,
};
inline constexpr EventKind kLastEventKind = EventKind::FailedRequest;
constexpr bool begins_block(EventKind kind) { return kind == EventKind::Alloc || kind == EventKind::ReallocStart; }
constexpr bool ends_block(EventKind kind) { return kind == EventKind::Free || kind == EventKind::ReallocEnd; }
inline constexpr std::uint32_t kMostUnwrittenBytes = 0xfffffffe;  // the largest number in a Contents note

// 24 bytes, trivially copyable. For Free and ReallocEnd `shape` is kNoShape, or with recorded free stacks the StackId.
struct Event {
  std::uint64_t stamp;  // ticks, the order key across threads
  std::uint64_t address;
  ShapeId shape;
  std::uint16_t thread;  // low 16 bits of ThreadId
  EventKind kind;
  std::uint8_t api;  // FreeApi for Free; of notes see EventKind; else 0 (a shape has its own)
};
static_assert(sizeof(Event) == 24);

// One kind of allocation: all events with the same stack, entry point and sizes share it. The key of table
// `site_sizes`.
struct Shape {
  StackId stack;
  AllocApi api;             // or MapApi where is_map
  std::uint8_t align_log2;  // 0: none requested
  std::uint8_t is_map;
  std::uint8_t reserved;
  std::uint64_t requested_bytes;
  std::uint64_t usable_bytes;
  double weight;  // 1 unless sampled
};

// A stack is its innermost frame and the stack of its caller. StackId 0 is empty; a node's parent always has a smaller
// id.
struct StackNode {
  StackId caller;
  RowId row;
};

}  // namespace tare::trace
