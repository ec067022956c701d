// XXH64, the checksum of trace records: any flipped bit shows, at several bytes a nanosecond.
#pragma once

#include <cstdint>
#include <span>

namespace tare::trace {

std::uint64_t xxh64(std::span<const std::uint8_t> bytes, std::uint64_t seed);

}  // namespace tare::trace
