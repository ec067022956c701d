// A written script as vectors.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "allocator_replay/script/call_script.h"
#include "support/trace_samples.h"

namespace tare::test {

struct Script {
  core::ScriptHeader header;
  std::vector<std::vector<core::Step>> threads;
  std::vector<std::uint64_t> times_ns;
};

template <typename T>
std::vector<T> array_at(const std::vector<std::uint8_t>& bytes, std::uint64_t at, std::uint64_t count) {
  std::vector<T> values(count);
  EXPECT_LE(at + count * sizeof(T), bytes.size());
  std::memcpy(values.data(), bytes.data() + at, count * sizeof(T));
  return values;
}

inline Script read_script(const std::string& path) {
  const std::vector<std::uint8_t> bytes = read_file(path);
  Script script;
  std::memcpy(&script.header, bytes.data(), sizeof script.header);
  EXPECT_EQ(script.header.magic, core::kScriptMagic);
  const auto chunks = array_at<std::uint64_t>(bytes, script.header.chunks_offset, script.header.chunk_count);
  for (const core::ScriptThread& thread :
       array_at<core::ScriptThread>(bytes, script.header.threads_offset, script.header.thread_count)) {
    std::vector<core::Step>& steps = script.threads.emplace_back();
    for (std::uint64_t done = 0; done < thread.step_count; done += core::kChunkSteps) {
      const std::uint64_t count = std::min(core::kChunkSteps, thread.step_count - done);
      const auto part = array_at<core::Step>(bytes, chunks[thread.first_chunk + done / core::kChunkSteps], count);
      steps.insert(steps.end(), part.begin(), part.end());
    }
    if (!steps.empty()) {
      EXPECT_EQ(thread.first_order, steps.front().order);
    }
  }
  script.times_ns = array_at<std::uint64_t>(bytes, script.header.times_offset, script.header.time_count);
  return script;
}

}  // namespace tare::test
