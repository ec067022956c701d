// The budget of a process that is recorded by samples: shares and ceilings that a user gives, and when the distance
// between samples must double to keep them.
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

// CPU times since a recording's begin, in ns.
struct CpuUse {
  double own = 0;
  double unusual = 0;  // the part of `own` that a greater distance doesn't lower
  double process = 0;
};

// The recorder's CPU time is to be at most a share of the process's. The first second counts as used at the start, so
// that a process may load its libraries.
//
// The distance doubles if the time of the whole recording is too large, and if the present distance is the cause: the
// usual cost of calls since the last doubling has exceeded the share by the cost of 128 calls. So a doubling rests on
// at least 128 calls of the present distance; where the share is kept, chance hardly ever brings such an excess about.
class CpuLimit {
 public:
  static constexpr double kGraceNs = 1e9;

  void begin(double share) { *this = CpuLimit(share); }
  // How often the distance must double now. To be called at each 32nd recorded call.
  int doublings(const CpuUse& now);
  // The usual cost of 32 calls.
  double usual_ns() const { return usual_ns_; }

  CpuLimit() = default;

 private:
  static constexpr double kLooksOfExcess = 4;
  static constexpr double kLooksOfMean = 16;
  // A share that was exceeded is paid back: a doubling saves a third of the cost, so this costs at most one more.
  static constexpr double kPaidBack = 0.25;
  static constexpr double kExtreme = 8;  // then the distance doubles twice at once

  explicit CpuLimit(double share) : share_(share) {}

  double share_ = 0;
  CpuUse before_;        // at the last look
  double usual_ns_ = 0;  // smoothed, of a look
  double excess_ = 0;    // usual cost beyond the share since it was last zero, which it never falls below
  double own_ = 0;       // usual cost since then
  double process_ = 0;
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
