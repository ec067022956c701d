// See finished_trace.h.
#include "core/drain/output/finished_trace.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "trace/base/file_bytes.h"

namespace tare::core {
namespace {

void delete_file(const std::string& path) {
  struct stat file;
  if (::lstat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode)) ::unlink(path.c_str());
}

}  // namespace

void FinishedTrace::close(trace::TraceWriter& writer, std::uint64_t end_offset) {
  end_offset_ = end_offset;
  file_bytes_ = writer.file_bytes();
  if (!writer.is_in_memory()) return;
  was_in_memory_ = true;
  in_memory_ = writer.take_bytes();
}

std::optional<std::vector<std::uint8_t>> FinishedTrace::take_short(const std::string& path) {
  if (file_bytes_ > kMostShortBytes) return std::nullopt;
  if (!in_memory_.empty()) return std::move(in_memory_);
  std::vector<std::uint8_t> bytes(file_bytes_);
  const int fd = trace::open_regular(path.c_str());
  const bool whole =
      fd >= 0 && trace::read_at(fd, bytes.data(), bytes.size(), 0) == static_cast<std::int64_t>(bytes.size());
  if (fd >= 0) ::close(fd);
  return whole ? std::optional(std::move(bytes)) : std::nullopt;
}

void FinishedTrace::move_into_container(const std::string& path) {
  if (!was_in_memory_) delete_file(path);
  is_member_ = true;
}

Status FinishedTrace::keep_own_file(const std::string& path, std::span<const std::uint8_t> trace) {
  if (!was_in_memory_) return ok();
  Status written = trace::TraceWriter::write_whole(path, trace);
  if (written) return ok();
  file_bytes_ = 0;
  delete_file(path);
  return written;
}

Status FinishedTrace::replace_end(const std::string& path, const trace::ProcessRecord& record) const {
  return trace::TraceWriter::replace_end(path, end_offset_, record);
}

}  // namespace tare::core
