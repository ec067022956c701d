// How the variant benches measure one act: CPU time, or with count_malloc preloaded calls of malloc.
#pragma once

#include <cstddef>
#include <string>

#include "counted_mallocs.h"
#include "report.h"

namespace tare::bench {

inline bool counts_mallocs() { return tare_counted_mallocs != nullptr; }

// A call, as of any function that writes a message: inlined into the loop, steps of several rounds would overlap.
template <typename Act>
[[gnu::noinline]] void once(Act& act) {
  act();
}

// Nanoseconds, or calls of malloc, of one `act`: the least of some batches, since what disturbs only adds.
template <typename Act>
void measure(Report& report, const std::string& name, const char* subject, Act act) {
  act();
  if (counts_mallocs()) {
    const auto before = tare_counted_mallocs();
    for (int i = 0; i < 100; ++i) act();
    const auto after = tare_counted_mallocs();
    report.add(name, subject, "mallocs", static_cast<double>(after.calls - before.calls) / 100, "count");
    report.add(name, subject, "bytes", static_cast<double>(after.bytes - before.bytes) / 100, "bytes");
    return;
  }
  constexpr double kBatchNs = 2e6;
  std::size_t count = 1;
  double least = 1e18;
  for (int batch = 0; batch < 12;) {
    const double begin = cpu_ns();
    for (std::size_t i = 0; i < count; ++i) once(act);
    const double taken = cpu_ns() - begin;
    if (taken < kBatchNs) {
      count *= 2;
      continue;
    }
    if (taken / static_cast<double>(count) < least) least = taken / static_cast<double>(count);
    ++batch;
  }
  report.add(name, subject, "time", least, "ns");
}

}  // namespace tare::bench
