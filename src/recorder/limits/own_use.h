// CPU time and memory of the recorder in a process that it records by samples.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "recorder/limits/budget.h"

namespace tare::recorder {

class OwnUse {
 public:
  // Figures count from now on, and recorded calls are measured.
  void begin();
  // If the process's CPU time can't be read, the elapsed time.
  CpuUse cpu() const;
  // Calls that take much longer than a usual one count as unusual ones. 0: not known yet.
  void set_usual_call(double ns) const;

  // Memory of the recorder's own that was touched, without spool and watch file. One caller at a time.
  static std::uint64_t resident_bytes();

 private:
  double ns_per_tick() const;

  std::uint64_t ticks_before_ = 0;  // of the parent, or of recordings before this one
  std::uint64_t long_ns_before_ = 0;
  std::uint64_t unusual_ns_before_ = 0;
  double process_before_ns_ = 0;
  std::uint64_t begin_stamp_ = 0;
  std::uint64_t begin_ns_ = 0;
};

}  // namespace tare::recorder
