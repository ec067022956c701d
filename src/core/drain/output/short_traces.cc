// SPDX-License-Identifier: Apache-2.0
// Decides on memory or file, and writes members: see short_traces.h.
#include "core/drain/output/short_traces.h"

#include <utility>
#include <vector>

namespace tare::core {

namespace {

constexpr std::uint64_t kLeastKeepingBytes = 2 << 20;  // with a smaller spool, programs would wait for chunks kept

}  // namespace

ShortTraces::ShortTraces(std::string spool_folder, const TraceNames& names, std::uint64_t spool_bytes)
    : spool_folder_(std::move(spool_folder)),
      names_(names),
      keeps_chunks_(spool_bytes == 0 || spool_bytes >= kLeastKeepingBytes) {}

// The command's own trace is the file named by the user.
FirstPlace ShortTraces::first_place(const std::string& trace_path) const {
  const bool may_be_member = !has_failed_ && !names_.member(trace_path).empty();
  return keeps_chunks_ && may_be_member ? FirstPlace::Memory : FirstPlace::File;
}

void ShortTraces::put(ImageRecording& image) {
  const std::string name = names_.member(image.trace_path());
  if (name.empty()) return;
  const std::optional<std::vector<std::uint8_t>> trace = image.short_trace();
  if (!trace) return;
  if (!container_ && !has_failed_) {
    Result<trace::ContainerWriter> made = trace::ContainerWriter::create(names_.container(), spool_folder_);
    if (made) container_.emplace(std::move(*made));
    has_failed_ = !made;
  }
  if (!has_failed_) {
    const Result<std::string> member = container_->append(name, *trace);
    if (member) return image.moved(container_->path() + ":" + *member);
    has_failed_ = true;
  }
  image.keep_own_file(*trace);
}

void ShortTraces::set_parent(const ImageRecording& image, const std::string& parent_trace) {
  if (container_) container_->set_parent(image.trace_path().substr(image.trace_path().rfind(':') + 1), parent_trace);
}

void ShortTraces::finish(LaunchOutcome& outcome) {
  if (!container_) return;
  if (Status status = container_->finish(); !status && !outcome.failure) outcome.failure = status.error();
  outcome.short_processes = {container_->path(), container_->members(), container_->file_bytes()};
}

}  // namespace tare::core
