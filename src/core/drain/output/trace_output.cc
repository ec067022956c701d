// See trace_output.h.
// SPDX-License-Identifier: Apache-2.0
#include "core/drain/output/trace_output.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tare::core {

using namespace trace;

// The file at the path so far contains only the path of the spool, for the case that the launcher is killed. It is
// replaced atomically by a file that contains that path too.
Status TraceOutput::begin(FirstPlace place, const ProcessRecord& record, MakeRoom make_room) {
  if (place == FirstPlace::Memory) {
    writer_.emplace(TraceWriter::in_memory(path_));
    writer_->put_process(record);
    return ok();
  }
  struct stat before;
  const bool replaces = ::lstat(path_.c_str(), &before) == 0 && S_ISREG(before.st_mode);
  const std::string path = replaces ? path_ + ".new" : path_;
  Status begun = begin_next(path, std::move(make_room));
  if (begun) {
    append().put_process(record);
    begun = flush();
  }
  if (!replaces) return begun;
  if (begun && ::rename(path.c_str(), path_.c_str()) == 0) {
    writer_->renamed(path_);
    return begun;
  }
  if (begun) {
    begun = Error{ErrorKind::Io,
                  "cannot write the trace " + path_ + ": " + std::strerror(errno) + "; choose another place with -o"};
  }
  ::unlink(path.c_str());
  ::unlink(path_.c_str());
  return begun;
}

Status TraceOutput::begin_next(const std::string& path, MakeRoom make_room) {
  Result<TraceWriter> writer = TraceWriter::create(path);
  if (!writer) return writer.error();
  writer_.emplace(std::move(*writer));
  writer_->on_full_disk(std::move(make_room));
  used_shapes_ = 0;
  return ok();
}

void TraceOutput::append_events(BlockPacker& packer, const Dictionary& dictionary, std::size_t count,
                                std::uint64_t spool_events, std::span<const ClockPair> pairs) {
  const std::span<const std::uint8_t> payload =
      packer.pack_front(encoder_, dictionary, used_shapes_, count, spool_events);
  TraceWriter& writer = append();
  writer.put_growth(dictionary);
  writer.put_clock(pairs);
  writer.put_events(payload);
}

Status TraceOutput::flush() {
  has_unwritten_ = false;
  return writer_->flush();
}

void TraceOutput::rest_descriptor(int from) {
  if (writer_ && writer_->holds_descriptor_from(from)) writer_->rest();
}

void TraceOutput::rename(const std::string& path) {
  path_ = path;
  if (writer_) writer_->renamed(path);
}

Status TraceOutput::leave_memory() {
  has_unwritten_ = true;
  return writer_->spill();
}

// A shell script makes images by the hundred: none keeps more than its facts.
void TraceOutput::finish(std::uint64_t end_offset) {
  if (writer_) finished_.close(*writer_, end_offset);
  writer_.reset();
}

void TraceOutput::move_into_container(const std::string& member_path) {
  finished_.move_into_container(path_);
  path_ = member_path;
}

}  // namespace tare::core
