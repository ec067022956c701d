// Which live block an address lies in, where only the starts of blocks are known.
#pragma once

#include <cstdint>
#include <optional>

namespace tare::core {

// Looks back from `address` for the start of a block that reaches beyond it: a pool's own header, or what it left out
// to align its memory, stands between. `usable_at` gives the usable bytes of the live block that begins at an address.
template <typename UsableAt>
std::optional<std::uint64_t> block_around(std::uint64_t address, UsableAt&& usable_at) {
  constexpr std::uint64_t kFarthest = 4096;
  constexpr std::uint64_t kStep = 8;
  for (std::uint64_t back = 0; back <= kFarthest && back <= address; back += kStep) {
    const std::optional<std::uint64_t> usable = usable_at(address - back);
    if (!usable) continue;
    if (*usable <= back) return std::nullopt;
    return address - back;
  }
  return std::nullopt;
}

}  // namespace tare::core
