// Chunks of one spool: those that the launcher has found, and those that it holds until their events are in the file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tare::core {

class HeldChunks {
 public:
  // A chunk of a smaller number may be passed to the other functions.
  void expect(std::uint32_t count) {
    if (found_.size() < count) found_.resize(count);
  }
  bool is_found(std::uint32_t chunk) const { return found_[chunk]; }  // in the queue of a thread, or held
  void add(std::uint32_t chunk) { found_[chunk] = true; }
  void hold() { ++held_; }
  void mark_written(std::uint32_t chunk) { written_.push_back(chunk); }

  std::size_t waiting() const { return held_ - written_.size(); }  // held: some of their events aren't in the file
  std::size_t written() const { return written_.size(); }          // held: all of their events are

  // Returns the chunks whose events are in the file to the program, by `release`.
  template <typename Release>
  void release_written(const Release& release) {
    for (const std::uint32_t chunk : written_) {
      found_[chunk] = false;
      release(chunk);
    }
    held_ -= written_.size();
    written_.clear();
  }

  void note_in_use(std::size_t count) { most_in_use_ = std::max(most_in_use_, count); }
  std::size_t take_most_in_use() { return std::exchange(most_in_use_, 0); }  // since the last call

 private:
  std::vector<bool> found_;  // by chunk
  std::vector<std::uint32_t> written_;
  std::size_t held_ = 0;
  std::size_t most_in_use_ = 0;
};

}  // namespace tare::core
