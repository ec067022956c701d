// Moves the first instructions of a function elsewhere, so that a jump fits in their place.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tare::recorder {

inline constexpr std::size_t kJumpBytes = 5;            // E9 and a distance
inline constexpr std::size_t kMostDisplacedBytes = 64;  // what displace() writes at most

struct Displaced {
  const char* refusal = nullptr;  // why it can't be done; null: it can
  std::uint8_t place = 0;         // where the jump goes: behind an endbr64
  std::uint8_t bytes = 0;         // how many bytes of the function are moved
  std::uint8_t written = 0;       // how many bytes there are now, with the jump back
};

// For the function at `function`, which has `bytes`: writes to `out` what performs its first instructions when it lies
// at `address`, and then jumps to the rest. Nothing else of the function may branch to what is moved.
Displaced displace(const std::uint8_t* function, std::size_t bytes, std::uint8_t* out, std::uint64_t address);

// Writes a jump to `target` for a place at `address`. False: it is too far away.
bool put_jump(std::uint8_t* out, std::uint64_t address, std::uint64_t target);

}  // namespace tare::recorder
