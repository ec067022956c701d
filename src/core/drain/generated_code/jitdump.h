// Names of generated code from a jitdump file (tools/perf/Documentation/jitdump-specification.txt), which V8 writes as
// jit-PID.dump into the working directory (--perf-prof), and agents of the JVM into ~/.debug/jit.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/drain/generated_code/perf_map.h"

namespace tare::core {

// Fills `room` with the bytes from `offset` on; returns how many there are.
using ByteSource = std::function<std::size_t(std::uint64_t offset, std::span<std::uint8_t> room)>;

// Adds the code of all records of type JIT_CODE_LOAD, in their order. Reads headers and names, not the code itself. The
// first record that contradicts itself ends the reading. False: the file begins as no jitdump of this kind of machine,
// or is of another process.
bool add_jitdump(const ByteSource& source, std::uint32_t pid, GeneratedNames& names);

// As read_perf_map(); a file that is no jitdump is Foreign.
PerfMapUse read_jitdump(const std::string& path, std::uint32_t pid, std::uint32_t owner,
                        std::uint64_t start_realtime_ns, GeneratedNames& names);

// Paths that the process may have written: in its working directory, and in each folder of `home`/.debug/jit.
std::vector<std::string> jitdump_paths(std::uint32_t pid, const std::string& cwd, const std::string& home);

}  // namespace tare::core
