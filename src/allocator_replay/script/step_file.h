// Steps of all threads on their way into a script: numbers them, gives slots to blocks, and changes steps afterwards.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <unordered_map>
#include <vector>

#include "allocator_replay/script/call_script.h"
#include "allocator_replay/script/output_file.h"

namespace tare::core {

class StepFile {
 public:
  // Where a step lies.
  struct Place {
    std::uint64_t step;  // within the thread
    std::uint32_t thread;
  };

  explicit StepFile(OutputFile& file);

  // Appends a step of the thread with this id; `now_ns` by the recording's clock.
  Place add(std::uint32_t thread_id, std::uint64_t now_ns, std::uint64_t what, std::uint32_t slot);
  void patch(Place place, std::uint64_t what);

  std::uint32_t take_slot();
  void give_back(std::uint32_t slot) { free_slots_.push_back({slot, order_}); }

  std::uint64_t order() const { return order_; }  // of the next step
  bool is_too_long() const { return order_ > std::numeric_limits<std::uint32_t>::max(); }
  bool needs_time() const { return order_ % kTimedSteps == 0; }  // else `now_ns` isn't read

  std::uint64_t threads() const { return threads_.size(); }
  std::uint64_t slots() const { return slot_count_; }
  std::uint64_t duration_ns() const { return times_ns_.empty() ? 0 : times_ns_.back(); }

  // Once, after the last step.
  void finish(std::uint64_t peak_order, std::uint64_t peak_requested_bytes);

 private:
  // A thread's steps; the chunks that are full lie in the file.
  struct ThreadSteps {
    std::vector<Step> open_chunk;
    std::vector<std::uint64_t> chunks;  // where they lie
    std::uint64_t count = 0;
    std::uint32_t first_order = 0;
  };
  struct FreeSlot {
    std::uint32_t slot;
    std::uint64_t since_order;
  };

  std::uint32_t thread_index(std::uint32_t id);
  void close_chunk(ThreadSteps& steps);

  OutputFile& file_;
  std::vector<ThreadSteps> threads_;
  std::unordered_map<std::uint32_t, std::uint32_t> index_of_thread_;
  std::uint32_t last_id_ = 0;  // most steps are of the same thread as the step before
  std::uint32_t last_index_ = 0;
  std::deque<FreeSlot> free_slots_;
  std::vector<std::uint64_t> times_ns_;
  std::uint64_t first_ns_ = 0;
  std::uint64_t order_ = 0;
  std::uint32_t slot_count_ = 0;
};

}  // namespace tare::core
