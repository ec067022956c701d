// A call script, opened and checked. Its tables are copied into shared memory, which counts as no heap.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocator_replay/script/call_script.h"

namespace tare::perform {

using core::Step;

// Memory of the performer itself: shared mappings, populated, so that they neither count as heap nor grow later. Ends
// the program with a message where there's none.
void* own_memory(std::size_t bytes);

class ScriptFile {
 public:
  // Ends the program with status 3 and a message where the file isn't a whole script.
  explicit ScriptFile(const char* path);

  const core::ScriptHeader& header() const { return header_; }
  const core::ScriptThread& thread(std::uint64_t i) const { return threads_[i]; }
  // ns since the first step when the step of `order` was taken, to within kTimedSteps steps.
  std::uint64_t time_ns(std::uint32_t order) const { return times_[order / core::kTimedSteps]; }
  // Reads chunk `chunk` of thread `i`; gives how many steps it has. From any thread.
  std::size_t read_chunk(std::uint64_t i, std::uint64_t chunk, Step* steps) const;

 private:
  void read(void* to, std::uint64_t bytes, std::uint64_t at) const;
  void* table(std::uint64_t count, std::uint64_t size, std::uint64_t at) const;

  const char* path_;
  int fd_;
  std::uint64_t file_bytes_;
  core::ScriptHeader header_;
  const core::ScriptThread* threads_;
  const std::uint64_t* chunks_;
  const std::uint64_t* times_;
};

}  // namespace tare::perform
