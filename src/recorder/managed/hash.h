// One multiply-and-fold of two words.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tare::recorder {

constexpr std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t h = (a ^ (b * 0x9e3779b97f4a7c15)) * 0xbf58476d1ce4e5b9;
  return h ^ (h >> 31);
}

}  // namespace tare::recorder
