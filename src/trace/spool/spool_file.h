// Reads a spool's header, tables and chunks by pread, believing nothing: for live spools and for those left behind.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trace/base/result.h"
#include "trace/model/dictionary.h"
#include "trace/model/process_info.h"
#include "trace/spool/spool_layout.h"

namespace tare::trace {

// A ChunkControl's words at one moment.
struct ChunkFacts {
  std::uint32_t chunk = 0;  // index in the spool
  ChunkState state = ChunkState::Free;
  std::uint32_t thread = 0;
  std::uint64_t thread_chunk = 0;
  std::uint64_t first_event = 0;
  std::uint32_t committed = 0;
  std::uint64_t open_monotonic_ns = 0;
  std::uint64_t open_stamp = 0;
};

// The header's growing numbers at one instant, limited to the layout's maxima.
struct SpoolCounts {
  std::uint32_t flags = 0;
  std::uint32_t modules = 0;
  std::uint32_t rows = 0;
  std::uint32_t chunks = 0;
  std::uint32_t threads = 0;
};

// Where a file with a SpoolHeader has its tables.
struct SpoolTables {
  const char* magic;  // 8 bytes
  std::uint32_t version;
  const char* name;    // of the kind of file, with its article
  const char* source;  // how such a file is made
  std::uint64_t strings;
  std::uint64_t string_bytes;
  std::uint64_t modules;
  std::uint64_t most_modules;
  std::uint64_t rows;
  std::uint64_t most_rows;
  std::uint64_t most_chunks;
};
inline constexpr SpoolTables kSpoolTables{
    kSpoolMagic, kSpoolVersion,   "a spool", "make a trace with: tare run -o FILE -- COMMAND",
    kStrings,    kMaxStringBytes, kModules,  kMaxModules,
    kRows,       kMaxRows,        kMaxChunks};

class SpoolFile {
 public:
  // NotATrace, NewerVersion, Corrupt, or Io. `tables` is kept.
  static Result<SpoolFile> open(const std::string& path, const SpoolTables& tables = kSpoolTables);
  SpoolFile(SpoolFile&& other) noexcept;
  SpoolFile& operator=(SpoolFile&& other) noexcept;
  ~SpoolFile();

  // True if the file at `path` begins as a spool does.
  static bool looks_like_spool(const std::string& path);

  Result<SpoolCounts> counts() const;
  // The facts as known now; strings that don't fit the pool come out empty.
  Result<ProcessInfo> process() const;
  // Puts those facts that change while the process runs into `info`.
  Status update(ProcessInfo& info) const;
  // Where stamps begin: the first calibration pair.
  ClockPair start() const { return start_; }
  // Where they end, if the program ended in order (else stamp 0).
  Result<std::uint64_t> end_stamp() const;
  // Appends modules and rows beyond those that the dictionary has.
  Status grow(const SpoolCounts& counts, Dictionary& dictionary) const;
  // Chunks in use with events in them, sorted by thread and then by age.
  Result<std::vector<ChunkFacts>> chunks(const SpoolCounts& counts) const;
  // Words [from, from + count) of a chunk; fewer if the file ends.
  Status read_words(std::uint32_t chunk, std::uint64_t from, std::uint64_t count,
                    std::vector<std::uint64_t>& words) const;
  // `bytes` of the file at `offset`. Io, or Corrupt where the file ends before.
  Status read_whole(void* to, std::size_t bytes, std::uint64_t offset) const;

  // Empty where the pool holds no such string.
  std::string string_at(StringRef ref) const;

  const std::string& path() const { return path_; }
  // Closes the descriptor until the next read, so that a reader of a thousand spools doesn't need one for each.
  void rest();
  int descriptor() const;  // opened again if need be; -1 where it can't be
  // The file's allocated bytes, without holes; 0 if unknown.
  std::uint64_t allocated_bytes() const;
  bool holds_descriptor_from(int number) const { return fd_ >= number; }
  bool stamps_are_ns() const { return stamps_are_ns_; }
  // The process as it numbers itself, and the inode of its pid namespace; 0: not known.
  std::uint32_t pid() const { return pid_; }
  std::uint64_t pid_namespace() const { return pid_namespace_; }

 private:
  SpoolFile(std::string path, int fd, const SpoolTables& tables) : tables_(&tables), path_(std::move(path)), fd_(fd) {}
  Error unreadable() const;
  std::span<const char> first_strings(std::span<char> room) const;
  std::string string_at(StringRef ref, std::span<const char> pool) const;
  // As read_at(), from the descriptor that is opened again if need be.
  std::int64_t read(void* to, std::size_t bytes, std::uint64_t offset) const;

  const SpoolTables* tables_ = &kSpoolTables;
  std::string path_;
  mutable int fd_ = -1;
  ClockPair start_{};
  bool stamps_are_ns_ = false;
  std::uint32_t pid_ = 0;
  std::uint64_t pid_namespace_ = 0;
};

}  // namespace tare::trace
