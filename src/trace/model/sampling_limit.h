// The limits of a sampled recording's budget (`tare run --sample --budget`).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tare::trace {

enum class SamplingLimit : std::uint32_t { None = 0, Memory = 1, Disk = 2, Cpu = 3 };
inline constexpr std::uint32_t kMostDoublings = 23;  // of the distance between samples: 512 KiB become 4 TiB
inline constexpr SamplingLimit kLastSamplingLimit = SamplingLimit::Cpu;

}  // namespace tare::trace
