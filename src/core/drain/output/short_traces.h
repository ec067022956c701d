// SPDX-License-Identifier: Apache-2.0
// The traces of a recording's short processes: which begin in memory, and the container that takes those that stay
// short.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/drain/image_recording.h"
#include "core/drain/output/trace_names.h"
#include "core/drain/recording_outcome.h"
#include "trace/file/container.h"

namespace tare::core {

class ShortTraces {
 public:
  // `spool_bytes`: the limit of a process's spool; 0: the recorder's default.
  ShortTraces(std::string spool_folder, const TraceNames& names, std::uint64_t spool_bytes);

  FirstPlace first_place(const std::string& trace_path) const;
  // Of a finished image, before its spool is deleted. If the container can't be written, the trace gets a file.
  void put(ImageRecording& image);
  // The trace of the parent of a member has got another name.
  void set_parent(const ImageRecording& image, const std::string& parent_trace);
  // Writes the container's directory.
  void finish(LaunchOutcome& outcome);

 private:
  const std::string spool_folder_;
  const TraceNames& names_;
  const bool keeps_chunks_;                          // while an image's trace is in memory
  std::optional<trace::ContainerWriter> container_;  // made for the first member
  bool has_failed_ = false;
};

}  // namespace tare::core
