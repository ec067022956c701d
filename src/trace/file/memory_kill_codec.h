// The value of field 59 of an End record: a kill for lack of memory. See FORMAT.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "trace/model/process_info.h"

namespace tare::trace {

std::vector<std::uint8_t> encode_memory_kill(const MemoryKill& kill);
// Nothing where the numbers contradict each other.
std::optional<MemoryKill> decode_memory_kill(std::span<const std::uint8_t> bytes);

}  // namespace tare::trace
