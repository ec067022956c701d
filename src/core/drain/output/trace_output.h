// The trace of one image, where it lies: in memory while its process is young, then in a file, in the end perhaps in a
// container.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/drain/output/finished_trace.h"
#include "trace/base/result.h"
#include "trace/file/event_block.h"
#include "trace/file/trace_writer.h"
#include "trace/model/dictionary.h"
#include "trace/model/process_info.h"
#include "trace/open/block_packer.h"

namespace tare::core {

// Where a trace begins. In memory it stays while its process is young and has filled few chunks, which are kept
// meanwhile: where the launcher is killed, the spool has all of it.
enum class FirstPlace : std::uint8_t { File, Memory };

class TraceOutput {
 public:
  using MakeRoom = trace::TraceWriter::MakeRoom;

  // `encoder` is shared by all images, and must outlive it.
  TraceOutput(std::string path, trace::EventBlockEncoder& encoder) : path_(std::move(path)), encoder_(encoder) {}

  const std::string& path() const { return path_; }
  std::uint64_t file_bytes() const { return writer_ ? writer_->file_bytes() : finished_.file_bytes(); }

  // Starts it with the process's record. `make_room` is called when the disk is full.
  Status begin(FirstPlace place, const trace::ProcessRecord& record, MakeRoom make_room);
  // The writer to append records with. The next flush() writes them into the file.
  trace::TraceWriter& append() {
    has_unwritten_ = true;
    return *writer_;
  }
  // The first `count` pending events of a thread, with the entries they need. `spool_events`: of the thread, up to the
  // last of these.
  void append_events(trace::BlockPacker& packer, const trace::Dictionary& dictionary, std::size_t count,
                     std::uint64_t spool_events, std::span<const trace::ClockPair> pairs);
  bool has_unwritten() const { return has_unwritten_; }
  Status flush();
  // Closes its descriptor, if that is numbered `from` or higher, until it is used again.
  void rest_descriptor(int from);
  void rename(const std::string& path);

  bool is_in_memory() const { return writer_ && writer_->is_in_memory(); }
  bool exceeds_memory() const { return file_bytes() > kMostShortBytes; }
  Status leave_memory();

  // The trace so far is complete: the next one is made at `path`, until it gets this one's name.
  Status begin_next(const std::string& path, MakeRoom make_room);
  void take_name_of_last() { writer_->renamed(path_); }

  // All records are written; the last of them, the End record, begins at `end_offset`. Only the functions below may be
  // called after that.
  void finish(std::uint64_t end_offset);
  std::optional<std::vector<std::uint8_t>> take_short() { return finished_.take_short(path_); }
  void move_into_container(const std::string& member_path);
  Status keep_own_file(std::span<const std::uint8_t> trace) { return finished_.keep_own_file(path_, trace); }
  bool is_member() const { return finished_.is_member(); }
  Status replace_end(const trace::ProcessRecord& record) const { return finished_.replace_end(path_, record); }

 private:
  std::string path_;
  trace::EventBlockEncoder& encoder_;
  std::optional<trace::TraceWriter> writer_;  // until finish()
  std::uint32_t used_shapes_ = 0;             // by its events
  bool has_unwritten_ = false;
  FinishedTrace finished_;
};

}  // namespace tare::core
