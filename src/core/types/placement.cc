// One walk over the parts, in bits because of bit-fields.
#include "core/types/placement.h"

#include <algorithm>
#include <numeric>

namespace tare::core {
namespace {

// No type comes near this size. Larger values of damaged files are cut, so that no sum below overflows.
constexpr std::uint64_t kMostBits = std::uint64_t{1} << 60;

struct Walk {
  std::uint64_t end_bits = 0;
  std::uint32_t align_bytes = 1;

  std::uint64_t put(const Part& part) {
    const std::uint64_t align_bits = std::uint64_t{part.align_bytes} * 8;
    std::uint64_t at = end_bits;
    if (part.unit_bits == 0) {
      at = round_up(round_up(at, 8), align_bits);
    } else if (at / part.unit_bits != (at + std::max<std::uint64_t>(part.size_bits, 1) - 1) / part.unit_bits) {
      at = round_up(at, align_bits);  // it would need two units of its type
    }
    end_bits = std::min(at + std::min(part.size_bits, kMostBits), kMostBits);
    align_bytes = std::max(align_bytes, part.align_bytes);
    return at;
  }

  std::uint64_t finish(const Surroundings& around) {
    align_bytes = std::max(align_bytes, around.least_align_bytes);
    std::uint64_t bytes = std::max(round_up(end_bits, 8) / 8, around.least_bytes);
    for (const VirtualPart& base : around.virtual_bases) {
      bytes = std::min(round_up(bytes, base.align_bytes) + std::min(base.size_bytes, kMostBits / 8), kMostBits / 8);
      align_bytes = std::max(align_bytes, base.align_bytes);
    }
    return round_up(bytes, align_bytes);
  }
};

}  // namespace

Placement place(std::span<const Part> parts, std::span<const std::uint32_t> order, const Surroundings& around) {
  Placement placement;
  placement.offsets_bits.resize(parts.size());
  Walk walk;
  for (const std::uint32_t i : order) placement.offsets_bits[i] = walk.put(parts[i]);
  placement.data_bytes = round_up(walk.end_bits, 8) / 8;
  placement.size_bytes = walk.finish(around);
  placement.align_bytes = walk.align_bytes;
  return placement;
}

std::uint64_t placed_bytes(std::span<const Part> parts, std::span<const std::uint32_t> order,
                           const Surroundings& around) {
  Walk walk;
  for (const std::uint32_t i : order) walk.put(parts[i]);
  return walk.finish(around);
}

std::vector<std::uint32_t> order_as_is(std::size_t n) {
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

}  // namespace tare::core
