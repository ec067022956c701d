// The successful calls in a trace, by kind.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>

#include "trace/open/open_trace.h"

namespace tare::core {

// The trace must have no impossible event: no block begins at the address of a live one.
struct Contents : trace::EventSink {
  void consume(std::span<const trace::Event> events) override {
    for (const trace::Event& event : events) {
      ++kinds[event.kind];
      if (event.kind == trace::EventKind::Alloc || event.kind == trace::EventKind::ReallocStart) {
        impossible += !live.insert(event.address).second;
      } else if (event.kind == trace::EventKind::Free || event.kind == trace::EventKind::ReallocEnd) {
        unknown_frees += live.erase(event.address) == 0;
      }
    }
  }
  std::map<trace::EventKind, std::uint64_t> kinds;
  std::set<std::uint64_t> live;
  std::uint64_t impossible = 0;
  std::uint64_t unknown_frees = 0;
};

inline Contents contents(const std::string& path) {
  Contents result;
  auto opened = trace::open_trace(path);
  if (!opened) {
    ADD_FAILURE() << opened.error().message;
    return result;
  }
  const Status status = opened->replay_into(result);
  EXPECT_TRUE(status) << status.error().message;
  EXPECT_EQ(result.impossible, 0u) << path;
  return result;
}

}  // namespace tare::core
