// The sums of each stack, size and thread: the samples of profiles whose blocks are labelled.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/columns/tables.h"

namespace tare::core {

// Ordered by stack, size and thread; an unknown thread comes last. Bytes are gross bytes: usable bytes and headers.
struct SampleSums {
  static constexpr std::int64_t kUnknownThread = -1;
  std::vector<std::int64_t> stack_ids, usable_bytes, threads;
  std::vector<std::int64_t> total_blocks, total_bytes, live_blocks, live_bytes, tare_bytes;
};

struct SampleOptions {
  std::string_view live;                // the column of blocks in use
  const Table* thread_sizes = nullptr;  // null: all blocks but inherited ones are of `thread`
  std::int64_t thread = SampleSums::kUnknownThread;
  bool by_size = true;  // else sizes are 0
};

// Bytes that lenses claim of a stack's blocks of one size. If one thread allocated them, they are that thread's.
struct SampleTare {
  std::int64_t stack = 0;
  std::int64_t usable_bytes = 0;
  std::int64_t bytes = 0;
};

// Nothing if a block stands for others, as in a sample: their sums are rounded.
std::optional<SampleSums> sums_by_sample(const Table& site_sizes, const SampleOptions& options,
                                         std::span<const SampleTare> tare);

}  // namespace tare::core
