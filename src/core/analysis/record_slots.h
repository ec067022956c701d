// Records that come and go, each at an index that stays while it lives.
#pragma once

#include <cstddef>
#include <vector>

namespace tare::core {

template <typename Record>
class RecordSlots {
 public:
  std::size_t add(const Record& record) {
    if (free_.empty()) {
      records_.push_back(record);
      return records_.size() - 1;
    }
    const std::size_t at = free_.back();
    free_.pop_back();
    records_[at] = record;
    return at;
  }
  // The record may still be read until the next add().
  void free(std::size_t at) { free_.push_back(at); }

  Record& operator[](std::size_t at) { return records_[at]; }
  const Record& operator[](std::size_t at) const { return records_[at]; }

 private:
  std::vector<Record> records_;
  std::vector<std::size_t> free_;
};

}  // namespace tare::core
