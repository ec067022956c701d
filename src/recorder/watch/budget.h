// The budget of a watched process: shares and ceilings that a user gives, and when the distance between samples must
// double to keep them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tare::recorder {

// 0: no such limit.
struct Budget {
  double cpu_share = 0;  // of the process's CPU time
  std::uint64_t memory_bytes = 0;
  std::uint64_t disk_bytes = 0;

  bool is_given() const { return cpu_share > 0 || memory_bytes != 0 || disk_bytes != 0; }
};

// "cpu=0.5%,memory=16M,disk=1M", each at most once. False: it isn't such a text, and `budget` has no limit.
bool parse_budget(const char* text, Budget& budget);
// "524288", "512K", "2M", "1G". 0: no such number, or one that is too large.
std::uint64_t bytes_of(const char* text);

// The recorder's CPU time is to be at most a share of the process's. The first second counts as used at the start, so
// that a process may load its libraries.
class CpuLimit {
 public:
  static constexpr double kGraceNs = 1e9;

  void begin(double share, double own_ns, double process_ns);
  // How often the distance must double now. Only where the recent share is too large, too: a distance that was doubled
  // lowers the share of the whole time slowly.
  int doublings(double own_ns, double process_ns);

 private:
  static constexpr int kMostAtOnce = 4;    // a short window's share is inaccurate
  static constexpr double kSettling = -1;  // the next look begins the window

  double share_ = 0;
  double own_begin_ = 0;
  double process_begin_ = 0;
  double own_before_ = 0;  // where the window begins
  double process_before_ = 0;
};

// Bytes in memory or on disk. The distance doubles whenever half of the room that was left is used, so that each half
// lasts as long as the one before.
class RoomLimit {
 public:
  enum class Verdict : std::uint8_t { Kept, Widen, Exceeded };

  void begin(std::uint64_t most_bytes, std::uint64_t used_bytes);
  Verdict look(std::uint64_t used_bytes);

 private:
  static constexpr std::uint64_t kPage = 4096;

  std::uint64_t most_ = 0;
  std::uint64_t next_ = 0;
};

}  // namespace tare::recorder
