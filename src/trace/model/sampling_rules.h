// Rules of recordings by samples that recorder and readers share (`tare run --sample --budget`).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tare::trace {

enum class SamplingLimit : std::uint32_t { None = 0, Memory = 1, Disk = 2, Cpu = 3 };
inline constexpr std::uint32_t kMostDoublings = 23;  // of the distance between samples: 512 KiB become 4 TiB
// Within an octave of sizes all blocks are sampled with the same probability.
inline constexpr std::uint64_t kOctaveHeaderBytes = 8;  // glibc's header of a block, part of its size
inline constexpr int kSmallestOctave = 5;               // smaller blocks are as those of 32 bytes
inline constexpr SamplingLimit kLastSamplingLimit = SamplingLimit::Cpu;

}  // namespace tare::trace
