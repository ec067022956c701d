// One multiply-and-fold of two words: good enough for tables of ids, and 1 ns.
#pragma once

#include <cstdint>

namespace tare::trace {

constexpr std::uint64_t mix_hash(std::uint64_t a, std::uint64_t b) {
  std::uint64_t h = (a ^ (b * 0x9e3779b97f4a7c15ull)) * 0xbf58476d1ce4e5b9ull;
  return h ^ (h >> 31);
}

}  // namespace tare::trace
