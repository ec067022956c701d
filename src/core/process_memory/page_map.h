// Which pages of a process are in memory, from /proc/PID/pagemap.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace tare::core {

enum class PageState : std::uint8_t {
  Absent,  // never touched
  Present,
  Swapped,
  Unknown,  // the file can't be read
};

class PageMap {
 public:
  explicit PageMap(pid_t pid);
  PageMap(const PageMap&) = delete;
  PageMap& operator=(const PageMap&) = delete;
  ~PageMap();

  // Valid until the next call.
  std::span<const PageState> states(std::uint64_t first_page, std::uint64_t pages);
  // Of one page, as it was at the first call for its 2 MiB. Small reads of one region then take one call of the system.
  PageState kept_state(std::uint64_t page);

 private:
  static constexpr std::uint64_t kWindowPages = 512;
  using Window = std::array<PageState, kWindowPages>;

  void read_states(std::uint64_t first_page, std::span<PageState> out);

  int fd_;
  std::vector<std::uint64_t> entries_;
  std::vector<PageState> states_;
  std::unordered_map<std::uint64_t, Window> windows_;
};

}  // namespace tare::core
