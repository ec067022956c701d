// The trace of a process that is over: in its file, in memory, or in a container.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trace/base/result.h"
#include "trace/file/trace_writer.h"
#include "trace/model/process_info.h"

namespace tare::core {

class FinishedTrace {
 public:
  // All records are written; the last of them, the End record, begins at `end_offset`.
  void close(trace::TraceWriter& writer, std::uint64_t end_offset);

  std::uint64_t file_bytes() const { return file_bytes_; }
  bool is_member() const { return is_member_; }  // of a container

  // The whole trace, if it is short enough for a container. Its file, if there is one, stays.
  std::optional<std::vector<std::uint8_t>> take_short(const std::string& path);
  // A container has the trace now: deletes its own file.
  void move_into_container(const std::string& path);
  // The container couldn't take `trace`: writes its own file, if it has none.
  Status keep_own_file(const std::string& path, std::span<const std::uint8_t> trace);
  Status replace_end(const std::string& path, const trace::ProcessRecord& record) const;

 private:
  std::uint64_t end_offset_ = 0;
  std::uint64_t file_bytes_ = 0;
  std::vector<std::uint8_t> in_memory_;
  bool was_in_memory_ = false;  // finished without a file
  bool is_member_ = false;
};

// Longer traces have files of their own.
inline constexpr std::uint64_t kMostShortBytes = 1 << 20;

}  // namespace tare::core
