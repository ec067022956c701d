// The files that one image's recording was cut into: names, and which of them still exist.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <string>

#include "trace/base/result.h"

namespace tare::core {

// How large a segment becomes, and how many there may be.
struct SegmentLimits {
  std::uint64_t max_bytes = 0;  // 0: a recording is one file
  std::uint32_t keep = 0;       // of segments, the latest included; 0: all

  bool wanted() const { return max_bytes != 0; }
};

// Deletes and renames only files that close() named, and that are still the same.
class SegmentFiles {
 public:
  explicit SegmentFiles(std::uint32_t keep = 0) : keep_(keep) {}

  // The file at `path`, segment `number`, gets its last name, and `next` the name that it had. Older segments than are
  // to be kept are deleted first.
  Status close(const std::string& path, std::uint32_t number, const std::string& next);
  // The disk is full: deletes the oldest. False: none may be deleted.
  bool give_up_oldest();
  // The recording has got another name; the latest segment was moved already.
  void rename_all(const std::string& path);
  std::size_t count() const { return files_.size(); }  // without the latest

 private:
  struct File {
    std::string path;
    std::uint32_t number;
    dev_t device;
    ino_t inode;
  };
  static bool is_same(const File& file);
  void delete_oldest();

  std::uint32_t keep_;
  std::deque<File> files_;  // the oldest first
};

// Removes segments of an earlier recording under that name: files whose names and first records identify them as such.
void remove_old_segments(const std::string& base);

}  // namespace tare::core
