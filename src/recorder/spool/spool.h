// The spool of this process image: the file's making, its regions, and chunks to write events into.
//
// No file descriptor is kept (programs close all of theirs): the mapping is enough. Pages are made real by
// MADV_POPULATE_WRITE before they are touched, which answers with an error where a full disk would mean SIGBUS, and
// further segments are mapped by mremap, which duplicates a shared mapping at a later offset of the same file.
#pragma once

#include <atomic>
#include <cstdint>

#include "recorder/base/attributes.h"
#include "recorder/unwind/unwind.h"
#include "trace/spool/spool_layout.h"

namespace tare::recorder {

inline constexpr std::uint32_t kNoChunk = 0xffffffff;
inline constexpr std::uint32_t kSegmentChunks = 64;  // 4 MiB of payload, and exactly one page of controls
inline constexpr std::uint32_t kMaxSegments = trace::kMaxChunks / kSegmentChunks;
inline constexpr std::uint32_t kPathBytes = 4352;  // PATH_MAX and a file name of ours

enum class SpoolMode : std::uint8_t {
  Launched,    // a launcher drains: few chunks, used again
  Standalone,  // without a launcher: chunks are never reused
  Watched,     // a watch file, which has no chunks: see trace/watch/watch_layout.h
};

enum class WatchArea : std::uint8_t { State, Nodes, Sums, Samples };

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
  // The same of a watch file: watched_spool.cc.
  Errno create_watched(const char* directory);
  // Renames it to PID.N.spool with the first N that is free (launched), or to `name` (standalone).
  Errno publish_numbered(std::uint32_t pid, const char* suffix = trace::kSpoolSuffix);
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
  SpoolMode mode() const { return mode_; }
  const char* path() const { return path_; }
  Tables tables();
  // Room for `bytes` more in the string pool, null when it's full; end_string() keeps the first `length` of them. For
  // the process's facts, before the module table starts to add its own.
  char* begin_string(std::uint64_t bytes);
  trace::StringRef end_string(std::uint64_t length);
  bool ensure(Tables::Region region, std::uint64_t bytes) { return ensure(area(region), bytes); }
  bool ensure(WatchArea which, std::uint64_t bytes) { return ensure(area(which), bytes); }
  char* base(WatchArea which) { return area(which).base; }
  // Deletes the file's name; the mappings stay.
  void unlink();

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
  // Chunks that may exist. The launcher's limit for the process's control group is part of it.
  std::uint32_t chunk_limit() const;
  // So many, even beyond a limit: each thread holds one open.
  void allow_chunks(std::uint32_t chunks);
  bool is_limit_open() const;  // the launcher hasn't looked at the process yet
  // From now on the launcher's limit counts only if there is one: it takes too long to find it out.
  void decide_limit() { is_limit_decided_.store(true, std::memory_order_relaxed); }
  bool is_unbounded() const { return chunk_limit_ == file_chunks_; }
  // Of a watch file: no more of it is made real than so many bytes. 0: no limit.
  void set_most_file_bytes(std::uint64_t bytes) { most_file_bytes_ = bytes; }
  std::uint64_t file_bytes() const;  // of a watch file: what is real
  bool has_reached_limit() const { return most_file_bytes_ != 0 && file_bytes() + kStep > most_file_bytes_; }
  // The chunk holds its last event: the launcher may take it, or (standalone) it's never touched again.
  void finish(std::uint32_t chunk);

  trace::ChunkControl& control(std::uint32_t chunk) const {
    return segments_[chunk / kSegmentChunks].controls[chunk % kSegmentChunks];
  }
  std::uint64_t* payload(std::uint32_t chunk) const {
    char* base = segments_[chunk / kSegmentChunks].payload;
    return reinterpret_cast<std::uint64_t*>(base + (chunk % kSegmentChunks) * trace::kChunkBytes);
  }

 private:
  struct Area {  // one mapped region
    char* base;
    std::uint64_t offset;    // in the file
    std::uint64_t capacity;  // mapped bytes
    std::uint64_t step;      // made real so much at a time
    std::atomic<std::uint64_t> ready;
  };

  // Opens a new file with a temporary name in `directory`; -errno where it can't.
  long open_new(const char* directory);
  Errno map_header(long fd);
  bool ensure(Area& wanted, std::uint64_t bytes);
  Errno size_file(long fd);
  Errno map_area(Area& area, long fd, std::uint64_t offset, std::uint64_t bytes, std::uint64_t step);
  Errno map_segment(std::uint32_t segment, long fd);
  Errno make_real(char* address, std::uint64_t bytes, std::uint64_t offset);
  Errno allocate_by_path(std::uint64_t offset, std::uint64_t bytes);
  bool leaves_reserve() const;
  void unmap_if_full(Segment& segment);
  Area& area(Tables::Region region) { return areas_[static_cast<int>(region)]; }
  static constexpr std::uint64_t kStep = 16 << 10;  // of a watch file's area that is made real
  Area& area(WatchArea which) { return areas_[3 + static_cast<int>(which)]; }

  trace::SpoolHeader* header_ = nullptr;
  SpoolMode mode_ = SpoolMode::Launched;
  std::uint32_t chunk_limit_ = 0;   // by the user and the file system
  std::uint32_t least_chunks_ = 0;  // see allow_chunks()
  std::atomic<bool> is_limit_decided_{false};
  std::uint64_t most_file_bytes_ = 0;
  std::uint32_t file_chunks_ = 0;  // chunks that the file's size has room for
  std::atomic<std::uint32_t> mapped_segments_{0};
  std::uint32_t directory_bytes_ = 0;  // of path_
  Area areas_[7] = {};                 // by Tables::Region, then by WatchArea
  char path_[kPathBytes] = {};
  Segment segments_[kMaxSegments] = {};
  char scratch_[kPathBytes] = {};  // paths are built here: the stack we run on may be a small one
};

}  // namespace tare::recorder
