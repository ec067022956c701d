// Rows of site_sizes for blocks of which a part is counted elsewhere: a row has one size, and the remainders of blocks
// have many.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/analysis/pools/pool_books.h"

namespace tare::core {

using MomentBlocks = std::array<std::uint64_t, PoolBooks::kMoments>;  // by PoolBooks::Moment

// So many blocks of one size.
struct Remainder {
  std::uint64_t requested_bytes;
  std::uint64_t usable_bytes;
  MomentBlocks blocks{};
};

// The remainders of the blocks of a shape after `taken` was subtracted. Their sums are exact at each snapshot. They are
// spread evenly over at most three sizes, independent of the remainder of each single block.
std::vector<Remainder> remainders(const PoolBooks::Taken (&taken)[PoolBooks::kMoments], std::uint64_t requested_bytes,
                                  std::uint64_t usable_bytes);

}  // namespace tare::core
