// Even shares of sums; see pool_rows.h.
#include "core/tables/pool_rows.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tare::core {
namespace {

// `sum` over `blocks`: so many have one byte more than the others.
struct Even {
  std::uint64_t bytes;
  std::uint64_t larger;
};

Even spread(unsigned __int128 sum, std::uint64_t blocks) {
  return {static_cast<std::uint64_t>(sum / blocks), static_cast<std::uint64_t>(sum % blocks)};
}

Even left(std::uint64_t bytes, std::uint64_t taken_bytes, std::uint64_t blocks) {
  const unsigned __int128 all = static_cast<unsigned __int128>(bytes) * blocks;
  return spread(all > taken_bytes ? all - taken_bytes : 0, blocks);
}

}  // namespace

std::vector<Remainder> remainders(const PoolBooks::Taken (&taken)[PoolBooks::kMoments], std::uint64_t requested_bytes,
                                  std::uint64_t usable_bytes) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, MomentBlocks> sizes;
  for (std::size_t moment = 0; moment < PoolBooks::kMoments; ++moment) {
    const std::uint64_t blocks = taken[moment].blocks;
    if (blocks == 0) continue;
    const Even requested = left(requested_bytes, taken[moment].requested_bytes, blocks);
    const Even usable = left(usable_bytes, taken[moment].usable_bytes, blocks);
    const std::uint64_t bounds[] = {0, std::min(requested.larger, usable.larger),
                                    std::max(requested.larger, usable.larger), blocks};
    for (std::size_t part = 0; part < 3; ++part) {
      const std::uint64_t count = bounds[part + 1] - bounds[part];
      if (count == 0) continue;
      const std::uint64_t one_requested = requested.bytes + (bounds[part] < requested.larger ? 1 : 0);
      const std::uint64_t one_usable = usable.bytes + (bounds[part] < usable.larger ? 1 : 0);
      sizes[{one_requested, one_usable}][moment] += count;
    }
  }
  std::vector<Remainder> found;
  found.reserve(sizes.size());
  for (const auto& [size, blocks] : sizes) found.push_back({size.first, size.second, blocks});
  return found;
}

}  // namespace tare::core
