// Renaming and rotating segments: see segment_files.h.
// SPDX-License-Identifier: Apache-2.0
#include "core/drain/segments/segment_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include "trace/base/segment_names.h"
#include "trace/file/trace_reader.h"

namespace tare::core {
namespace {

// With its tables' cache: files named as that names them, and the folder if nothing else is in it.
void remove_with_cache(const std::string& path) {
  ::unlink(path.c_str());
  const std::filesystem::path file(path);
  const std::filesystem::path cache = file.parent_path() / ("." + file.filename().string() + ".cache");
  std::error_code ignored;
  std::vector<std::filesystem::path> tables;
  if (!std::filesystem::is_directory(std::filesystem::symlink_status(cache, ignored))) return;
  for (const auto& entry : std::filesystem::directory_iterator(cache, ignored)) {
    const bool is_plain = std::filesystem::is_regular_file(entry.symlink_status(ignored));
    if (is_plain && entry.path().filename().string().find("-v") != std::string::npos) tables.push_back(entry.path());
  }
  for (const auto& table : tables) ::unlink(table.c_str());
  ::rmdir(cache.c_str());
}

}  // namespace

bool SegmentFiles::is_same(const File& file) {
  struct stat now;
  return ::lstat(file.path.c_str(), &now) == 0 && S_ISREG(now.st_mode) && now.st_dev == file.device &&
         now.st_ino == file.inode;
}

void SegmentFiles::delete_oldest() {
  if (is_same(files_.front())) remove_with_cache(files_.front().path);
  files_.pop_front();
}

Status SegmentFiles::close(const std::string& path, std::uint32_t number, const std::string& next) {
  while (keep_ != 0 && !files_.empty() && files_.size() + 2 > keep_) delete_oldest();
  const std::string name = trace::segment_path(path, number);
  struct stat file;
  const bool is_file = ::lstat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode);
  if (!is_file || ::rename(path.c_str(), name.c_str()) != 0 || ::rename(next.c_str(), path.c_str()) != 0) {
    return Error{ErrorKind::Io, "cannot name the segment " + name + ": " + std::strerror(is_file ? errno : ENOENT)};
  }
  files_.push_back({name, number, file.st_dev, file.st_ino});
  if (keep_ == 1) delete_oldest();
  return ok();
}

bool SegmentFiles::give_up_oldest() {
  if (keep_ == 0) return false;
  while (!files_.empty() && !is_same(files_.front())) files_.pop_front();
  if (files_.empty()) return false;
  delete_oldest();
  return true;
}

void SegmentFiles::rename_all(const std::string& path) {
  for (File& file : files_) {
    const std::string name = trace::segment_path(path, file.number);
    if (is_same(file) && ::rename(file.path.c_str(), name.c_str()) == 0) file.path = name;
  }
}

void remove_old_segments(const std::string& base) {
  const std::filesystem::path path(base);
  const std::string prefix = path.filename().string() + ".s";
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  std::error_code ignored;
  std::vector<std::string> old;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    const bool is_named = name.starts_with(prefix) && trace::segment_base(name) == path.filename().string();
    if (!is_named || !entry.is_regular_file(ignored) || entry.is_symlink(ignored)) continue;
    const Result<trace::TraceFile> trace = trace::TraceFile::open(entry.path().string());
    const std::optional<trace::ProcessRecord> first = trace ? trace->first_record() : std::nullopt;
    if (!first || !first->info.segment) continue;
    if (name == prefix + std::to_string(first->info.segment->number)) old.push_back(entry.path().string());
  }
  for (const std::string& file : old) remove_with_cache(file);
}

}  // namespace tare::core
