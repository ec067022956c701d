// Rows of site_sizes for blocks of which a part is counted elsewhere: a row has one size, what is left of blocks
// hasn't.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/analysis/pool_books.h"

namespace tare::core {

using MomentBlocks = std::array<std::uint64_t, PoolBooks::kMoments>;  // by PoolBooks::Moment

// So many blocks of one size.
struct Remainder {
  std::uint64_t requested_bytes;
  std::uint64_t usable_bytes;
  MomentBlocks blocks{};
};

// What is left of the blocks of a shape when `taken` is taken away. Their sums are exact at each moment; they are
// spread evenly, over three sizes at most, whatever each single block has left.
std::vector<Remainder> remainders(const PoolBooks::Taken (&taken)[PoolBooks::kMoments], std::uint64_t requested_bytes,
                                  std::uint64_t usable_bytes);

}  // namespace tare::core
