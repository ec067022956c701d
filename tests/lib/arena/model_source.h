// Chunks as an allocator of some size model would serve them, with books on what is asked for.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <map>
#include <vector>

#include "tare/arena.h"
#include "tare/size_classes.h"

namespace tare {

class ModelSource {
 public:
  explicit ModelSource(const SizeModel& model) : model_(model) {}
  ModelSource(const ModelSource&) = delete;
  ModelSource& operator=(const ModelSource&) = delete;
  ~ModelSource() {
    for (const auto& [memory, bytes] : live_) std::free(memory);
  }

  ArenaSource source() {
    return {
        .allocate = [](void* self,
                       std::size_t bytes) noexcept { return static_cast<ModelSource*>(self)->allocate(bytes); },
        .free = [](void* self, void* memory,
                   std::size_t bytes) noexcept { static_cast<ModelSource*>(self)->free(memory, bytes); },
        .good_size =
            [](void* self, std::size_t bytes) noexcept {
              return good_size(static_cast<ModelSource*>(self)->model_, bytes);
            },
        .context = this,
    };
  }

  const std::vector<std::size_t>& requests() const { return requests_; }  // all that ever were
  const std::map<void*, std::size_t>& live() const { return live_; }
  std::size_t live_bytes() const {
    std::size_t sum = 0;
    for (const auto& [memory, bytes] : live_) sum += bytes;
    return sum;
  }
  int wrong_frees() const { return wrong_frees_; }
  void fail_from_now_on(bool fail) { fails_ = fail; }

 private:
  void* allocate(std::size_t bytes) {
    if (fails_) return nullptr;
    void* memory = std::malloc(bytes);
    requests_.push_back(bytes);
    live_[memory] = bytes;
    return memory;
  }
  void free(void* memory, std::size_t bytes) {
    const auto found = live_.find(memory);
    if (found == live_.end() || found->second != bytes) {
      ++wrong_frees_;
      return;
    }
    live_.erase(found);
    std::free(memory);
  }

  const SizeModel& model_;
  std::vector<std::size_t> requests_;
  std::map<void*, std::size_t> live_;
  int wrong_frees_ = 0;
  bool fails_ = false;
};

}  // namespace tare
