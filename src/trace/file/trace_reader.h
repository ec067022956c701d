// Reads a .tare file: one validating pass over all records, then event blocks on demand.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trace/base/expansion.h"
#include "trace/base/result.h"
#include "trace/file/container.h"
#include "trace/file/event_block.h"
#include "trace/file/process_codec.h"
#include "trace/model/dictionary.h"
#include "trace/model/live_set.h"
#include "trace/model/moment.h"
#include "trace/model/process_info.h"

namespace tare::trace {

// The place of an event block, and its header.
struct BlockRef {
  std::uint64_t offset = 0;  // of the record
  std::uint32_t length = 0;  // of the payload
  BlockHeader header;
};

// The place of a record whose contents are read on demand.
struct RecordRef {
  std::uint64_t offset = 0;  // of the record
  std::uint32_t length = 0;  // of the payload
};

// Everything of a trace but its events, which are left in the file.
struct TraceIndex {
  ProcessRecord process;
  Dictionary dictionary;
  LiveSet live;  // the blocks at the beginning of a segment
  std::vector<ClockPair> clock_pairs;
  std::vector<BlockRef> blocks;      // in file order: each thread's in its order
  std::vector<RecordRef> moments;    // in file order; a large moment has several
  bool ended = false;                // an End record closes it
  bool cut_off = false;              // the file ends inside a record
  std::uint64_t readable_bytes = 0;  // up to the end of the last whole and intact record
  std::uint64_t unpacked_bytes = 0;  // of the dictionary, as ExpansionBudget counts them
  std::optional<Error> damage;       // the error that ended the reading, if not the end of the file
};

class TraceFile {
 public:
  // A file of its own, or a member of a container ("F.short:NAME"). NotATrace, NewerVersion, or Io. Later damage isn't
  // an error here: index() has it.
  static Result<TraceFile> open(const std::string& path);
  // The same where the place is known; `path` is for messages.
  static Result<TraceFile> open(const std::string& path, const TracePlace& place);
  TraceFile(TraceFile&& other) noexcept;
  TraceFile& operator=(TraceFile&& other) noexcept;
  ~TraceFile();

  // Verifies every record and reads all but the events. NewerVersion where a record can neither be understood nor
  // skipped; Io where the file can't be read.
  Result<TraceIndex> index() const;

  // The facts of the process in the first record, without further reading. Nothing where it isn't one, or is damaged.
  std::optional<ProcessRecord> first_record() const;

  // Appends the events of a block to `out`. The error Corrupt has the offset.
  Status read_block(const BlockRef& block, const Dictionary& dictionary, EventBlockDecoder& decoder,
                    EventBuffer& out) const;

  // Adds a record's moment to `moments`, or its blocks to the last of them. The error Corrupt has the offset. All that
  // one walk reads counts in `budget`.
  Status read_moment(const RecordRef& record, const Dictionary& dictionary, ExpansionBudget& budget,
                     std::vector<Moment>& moments) const;

  std::uint64_t file_bytes() const { return file_bytes_; }  // of the trace, when it was opened

  const std::string& path() const { return path_; }

 private:
  std::int64_t read(void* to, std::size_t count, std::uint64_t offset) const;
  Status read_payload(std::uint64_t offset, std::uint32_t length, std::span<const std::uint8_t>& payload) const;
  TraceFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  int fd_ = -1;
  std::uint64_t base_ = 0;  // where the trace begins: not 0 in a container
  std::uint64_t file_bytes_ = 0;
  bool is_member_ = false;
  std::string parent_trace_;  // as the container has it
  mutable std::vector<std::uint8_t> buffer_;
};

}  // namespace tare::trace
