// Reads a word of another function's frame. In assembler, because sanitizers would object to it.
#pragma once

#include <cstdint>

namespace tare::recorder {

inline std::uint64_t load(std::uint64_t address) {
  std::uint64_t value = 0;
  __asm__("movq %1, %0" : "=r"(value) : "m"(*reinterpret_cast<const std::uint64_t*>(address)));
  return value;
}

}  // namespace tare::recorder
