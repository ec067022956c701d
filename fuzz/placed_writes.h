// A fuzzer's input as writes into the regions of a file: a place of 4 bytes, a length of 2, then the bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace tare::fuzz {

// Calls write(offset, bytes, count) for each; false ends them. A place's upper byte chooses the region, `within` masks
// the offset in it.
template <typename Write>
bool for_placed_writes(const std::uint8_t* data, std::size_t size, std::span<const std::uint64_t> regions,
                       std::uint32_t within, Write&& write) {
  while (size > 6) {
    std::uint32_t place;
    std::uint16_t length;
    std::memcpy(&place, data, 4);
    std::memcpy(&length, data + 4, 2);
    data += 6;
    size -= 6;
    const std::size_t bytes = std::min<std::size_t>(length, size);
    if (!write(regions[(place >> 24) % regions.size()] + (place & within), data, bytes)) return false;
    data += bytes;
    size -= bytes;
  }
  return true;
}

}  // namespace tare::fuzz
