// The spool of this process image: the file's making, its regions, and chunks to write events into.
//
// No file descriptor is kept (programs close all of theirs): the mapping is enough. Pages are made real by
// MADV_POPULATE_WRITE before they are touched, which answers with an error where a full disk would mean SIGBUS. Only
// the file's head is mapped at first. Tables that outgrow it and further segments are mapped by mremap, which
// duplicates a shared mapping at a later offset of the same file.
#pragma once

#include <atomic>
#include <cstdint>

#include "recorder/base/attributes.h"
#include "recorder/unwind/unwind.h"
#include "trace/spool/spool_layout.h"

namespace tare::recorder {

inline constexpr std::uint32_t kNoChunk = 0xffffffff;
// Of chunks behind the head: 4 MiB of payload, and exactly one page of controls.
inline constexpr std::uint32_t kSegmentChunks = 64;
inline constexpr std::uint32_t kMaxSegments = trace::kMaxChunks / kSegmentChunks;
inline constexpr std::uint32_t kPathBytes = 4352;  // PATH_MAX and a file name of ours

enum class SpoolMode : std::uint8_t {
  Launched,    // a launcher drains: few chunks, used again
  Standalone,  // without a launcher: chunks are never reused
};

// Why something failed: errno, 0 for success.
using Errno = int;

struct Segment {
  trace::ChunkControl* controls;
  char* payload;
  std::atomic<std::uint32_t> full;  // standalone: chunks done for good; the payload is unmapped when all are
  std::atomic<std::uint32_t> gone;  // it is
};

class Spool {
 public:
  // Makes and maps the file as `directory`/name, unnamed yet (a temporary name): fill in the header, then publish().
  Errno create(const char* directory, SpoolMode mode, std::uint64_t launched_bytes);
  // Renames it to PID.N.spool with the first N that is free (launched), or to `name` (standalone).
  Errno publish_numbered(std::uint32_t pid);
  Errno publish_named(const char* name);
  // Unmaps everything and resets the object. In a forked child: the file stays the parent's.
  void abandon();

  // Replaces the spool's mapping around this address with zeros of the process's own. False: there is none.
  bool replace_mapping(std::uint64_t address);

  // In a forked child: the header, an open chunk (null: none) and its control aren't the parent's any more.
  void make_private(std::uint64_t* chunk, trace::ChunkControl* control);

  // Deletes the file, then as abandon().
  void discard();
  char* path_buffer() { return scratch_; }  // kPathBytes, for callers that build a path before there's a spool

  trace::SpoolHeader* header() const { return header_; }
  // In a forked child, of its parent's spool: the parent may have moved a table out of the head since the fork. The
  // first `bytes` of the region can be read afterwards. False: no address space.
  bool follow(Tables::Region region, std::uint64_t bytes);
  SpoolMode mode() const { return mode_; }
  const char* path() const { return path_; }
  Tables tables();
  // Room for `bytes` more in the string pool, null when it's full; end_string() keeps the first `length` of them. For
  // the process's facts, before the module table starts to add its own.
  char* begin_string(std::uint64_t bytes);
  trace::StringRef end_string(std::uint64_t length);
  // The table is about to have `bytes`, not fewer: readers depend on it. One caller at a time for each region.
  bool ensure(Tables::Region region, std::uint64_t bytes);
  // Makes memory for so many bytes, so that a later ensure() needs no system call.
  bool prepare(Tables::Region region, std::uint64_t bytes);
  // The strings of a forked child's parent become this spool's first.
  bool take_strings(const char* strings, std::uint64_t bytes);

  // A chunk returned by the launcher, or kNoChunk. Lock-free.
  std::uint32_t pop_free();
  bool has_free() const {
    return static_cast<std::uint32_t>(header_->free_chunks.load(std::memory_order_relaxed)) != 0;
  }
  // An unused chunk whose first `bytes` are allocated, or kNoChunk: limit reached, disk full, or no address space. One
  // caller at a time.
  std::uint32_t grow(std::uint64_t bytes);
  // More of the chunk is real from now on: four times as much, and at least `bytes` (of kChunkBytes at most). False: no
  // memory.
  bool extend(std::uint32_t chunk, std::uint64_t bytes);
  // A chunk from grow() that isn't used now: pop_free() gives it.
  void keep(std::uint32_t chunk);
  // Chunks that may exist; a launched spool raises it with its threads, and drops it when the launcher is dead.
  void set_chunk_limit(std::uint32_t chunks) { chunk_limit_ = chunks; }
  std::uint32_t chunk_limit() const { return chunk_limit_; }
  std::uint32_t file_chunks() const { return file_chunks_; }
  // The chunk holds its last event: the launcher may take it, or (standalone) it's never touched again.
  void finish(std::uint32_t chunk);

  trace::ChunkControl& control(std::uint32_t chunk) const {
    if (chunk < trace::kHeadChunks) return reinterpret_cast<trace::ChunkControl*>(head_ + trace::kHeadControls)[chunk];
    chunk -= trace::kHeadChunks;
    return segments_[chunk / kSegmentChunks].controls[chunk % kSegmentChunks];
  }
  std::uint64_t* payload(std::uint32_t chunk) const {
    if (chunk < trace::kHeadChunks) return reinterpret_cast<std::uint64_t*>(head_ + trace::chunk_offset(chunk));
    chunk -= trace::kHeadChunks;
    char* base = segments_[chunk / kSegmentChunks].payload;
    return reinterpret_cast<std::uint64_t*>(base + (chunk % kSegmentChunks) * trace::kChunkBytes);
  }

 private:
  // A table: in the head, and in its region once it has outgrown its place there.
  struct Area {
    char* base;
    std::uint64_t offset;    // in the file
    std::uint64_t capacity;  // from `base` on
    std::uint64_t ready;     // from `base` on, backed by memory
    std::uint64_t step;      // made real so much at a time
    bool is_moved;           // set last
    std::uint64_t head_bytes;
    char* region;                // null: not mapped yet
    std::uint64_t region_ready;  // of the region, backed by memory before the table has moved
    std::uint64_t region_offset;
    std::uint64_t region_bytes;
  };

  Errno size_file(long fd);
  Errno map_head(long fd);
  Errno map_all(long fd);
  static char* map_beyond(char* mapping, std::uint64_t from, std::uint64_t to, std::uint64_t bytes);
  char* map_part(std::uint64_t offset, std::uint64_t bytes);
  bool map_region(Area& area);
  bool prepare_region(Area& area, std::uint64_t bytes);
  bool move_to_region(Area& area, std::uint64_t bytes);
  Errno map_segment(std::uint32_t segment, long fd);
  Errno make_real(char* address, std::uint64_t bytes, std::uint64_t offset);
  Errno allocate_by_path(std::uint64_t offset, std::uint64_t bytes);
  bool leaves_reserve() const;
  void unmap_if_full(Segment& segment);
  Area& area(Tables::Region region) { return areas_[static_cast<int>(region)]; }

  trace::SpoolHeader* header_ = nullptr;
  char* head_ = nullptr;  // the same address
  SpoolMode mode_ = SpoolMode::Launched;
  std::uint32_t chunk_limit_ = 0;
  std::uint32_t file_chunks_ = 0;  // chunks that the file's size has room for
  std::atomic<std::uint32_t> mapped_segments_{0};
  std::uint32_t directory_bytes_ = 0;  // of path_
  Area areas_[3] = {};                 // by Tables::Region
  char path_[kPathBytes] = {};
  Segment segments_[kMaxSegments] = {};
  // Paths are built here: the stack we run on may be a small one. One spool is made at a time.
  static char scratch_[kPathBytes];
};

}  // namespace tare::recorder
