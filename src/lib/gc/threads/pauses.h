// How long the heap's thread was kept from its work.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tare/version.h"

namespace tare::inline TARE_ABI::gc {

inline std::size_t now_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::size_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::size_t>(now.tv_nsec);
}

// Deadlines are of the same clock.
inline constexpr std::size_t kNoDeadline = SIZE_MAX;
inline bool is_late(std::size_t deadline_ns) noexcept { return deadline_ns != kNoDeadline && now_ns() >= deadline_ns; }

struct Pauses {
  std::size_t count = 0;
  std::size_t sum_ns = 0;
  std::size_t longest_ns = 0;
  std::size_t last_ns = 0;
};

// One of them, from here to the end of the scope.
class Pause {
 public:
  explicit Pause(Pauses& pauses) noexcept : pauses_(pauses), begin_ns_(now_ns()) {}
  ~Pause() {
    pauses_.last_ns = so_far_ns();
    pauses_.sum_ns += pauses_.last_ns;
    pauses_.longest_ns = std::max(pauses_.longest_ns, pauses_.last_ns);
    ++pauses_.count;
  }
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;

  std::size_t begin_ns() const noexcept { return begin_ns_; }
  std::size_t so_far_ns() const noexcept { return now_ns() - begin_ns_; }

 private:
  Pauses& pauses_;
  std::size_t begin_ns_;
};

}  // namespace tare::inline TARE_ABI::gc
