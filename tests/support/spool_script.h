// Makes spools that behave like programs: threads, random sizes, realloc chains, hand-over between threads. Repeatable.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "support/spool_builder.h"

namespace tare::test {

struct SpoolScript {
  std::uint32_t threads = 1;
  std::uint64_t calls = 10'000;  // in all
  std::uint32_t stacks = 50;     // distinct call sites
  std::uint32_t depth = 12;
  std::uint64_t seed = 1;
  std::uint64_t stamp_step = 200;  // mean ticks between events
  bool maps = true;
};

// What the spool should decode to, in global order: enough to check each event.
struct ExpectedCall {
  std::uint64_t stamp;
  std::uint32_t thread;
  trace::Op op;
  std::uint64_t address;
  std::uint64_t old_address;
  std::uint64_t requested_bytes;
  std::uint64_t usable_bytes;
  std::vector<std::uint64_t> addresses;  // return addresses, innermost first
};

std::vector<ExpectedCall> play(const SpoolScript& script, SpoolBuilder& spool);

}  // namespace tare::test
