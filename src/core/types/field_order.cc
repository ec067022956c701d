// Sorts for the smallest size, then checks if one or two moves reach the same size.
#include "core/types/field_order.h"

#include <algorithm>
#include <bit>

#include "core/types/placement.h"

namespace tare::core {
namespace {

using Order = std::vector<std::uint32_t>;

// Moves are tried in all places, each weighed by a walk over all parts: n^3 steps, 20 us for 24 units.
constexpr std::size_t kMostUnitsForMoves = 24;
// The search for a part that fits without a hole is quadratic. Types written by people have fewer fields.
constexpr std::size_t kMostUnitsToFit = 2048;

// Consecutive parts that move as one.
struct Unit {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::uint32_t align_bytes = 1;
  std::uint64_t size_bits = 0;
};

struct Units {
  Order first;
  std::vector<Unit> free;
  Order last;
};

Units units_of(std::span<const Part> parts) {
  Units units;
  for (std::uint32_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    if (part.place == Part::Place::First) {
      units.first.push_back(i);
    } else if (part.place == Part::Place::Last) {
      units.last.push_back(i);
    } else if (part.unit_bits != 0 && i > 0 && parts[i - 1].unit_bits != 0 && !units.free.empty() &&
               units.free.back().end == i) {
      Unit& run = units.free.back();
      run.end = i + 1;
      run.align_bytes = std::max(run.align_bytes, part.align_bytes);
      run.size_bits += part.size_bits;
    } else {
      units.free.push_back({i, i + 1, part.align_bytes, part.size_bits});
    }
  }
  return units;
}

Order flat(const Units& units, const std::vector<Unit>& free) {
  Order order = units.first;
  for (const Unit& unit : free) {
    for (std::uint32_t i = unit.begin; i < unit.end; ++i) order.push_back(i);
  }
  order.insert(order.end(), units.last.begin(), units.last.end());
  return order;
}

// At each place the strictest alignment that needs no hole there; where all need one, the one with the smallest.
std::vector<Unit> without_holes(std::span<const Part> parts, const Units& units, const Surroundings& around) {
  std::uint64_t end_bits = 0;
  if (!units.first.empty()) {
    Surroundings alone = around;
    alone.virtual_bases.clear();
    const Placement begin = place(std::span(parts).first(units.first.size()), order_as_is(units.first.size()), alone);
    end_bits = begin.data_bytes * 8;
  }
  std::vector<Unit> left = units.free;
  // By descending alignment. Units of equal alignment keep their order.
  std::stable_sort(left.begin(), left.end(),
                   [](const Unit& a, const Unit& b) { return a.align_bytes > b.align_bytes; });
  if (left.size() > kMostUnitsToFit) return left;
  std::vector<Unit> sorted;
  sorted.reserve(left.size());
  while (!left.empty()) {
    auto best = left.begin();
    std::uint64_t best_hole = ~std::uint64_t{0};
    for (auto unit = left.begin(); unit != left.end() && best_hole != 0; ++unit) {
      const std::uint64_t hole = round_up(end_bits, std::uint64_t{unit->align_bytes} * 8) - end_bits;
      if (hole < best_hole) {
        best = unit;
        best_hole = hole;
      }
    }
    end_bits = round_up(end_bits + best_hole + best->size_bits, 8);
    sorted.push_back(*best);
    left.erase(best);
  }
  return sorted;
}

// The order that moving one unit makes smallest; `units.free` is left in it. False: no move makes it smaller.
bool best_move(std::span<const Part> parts, const Surroundings& around, Units& units, std::uint64_t& size_bytes) {
  std::vector<Unit> best;
  std::vector<Unit> tried;
  for (std::size_t from = 0; from < units.free.size(); ++from) {
    for (std::size_t to = 0; to < units.free.size(); ++to) {
      if (to == from) continue;
      tried = units.free;
      const auto begin = tried.begin();
      if (from < to) {
        std::rotate(begin + static_cast<std::ptrdiff_t>(from), begin + static_cast<std::ptrdiff_t>(from) + 1,
                    begin + static_cast<std::ptrdiff_t>(to) + 1);
      } else {
        std::rotate(begin + static_cast<std::ptrdiff_t>(to), begin + static_cast<std::ptrdiff_t>(from),
                    begin + static_cast<std::ptrdiff_t>(from) + 1);
      }
      const std::uint64_t now = placed_bytes(parts, flat(units, tried), around);
      if (now < size_bytes) {
        size_bytes = now;
        best = tried;
      }
    }
  }
  if (best.empty()) return false;
  units.free = std::move(best);
  return true;
}

}  // namespace

ProposedOrder propose_order(std::span<const Part> parts, const Surroundings& around) {
  ProposedOrder proposed;
  proposed.size_bytes = placed_bytes(parts, order_as_is(parts.size()), around);
  Units units = units_of(parts);
  if (units.free.size() < 2) return proposed;
  const std::vector<Unit> sorted = without_holes(parts, units, around);
  Order order = flat(units, sorted);
  const std::uint64_t least = placed_bytes(parts, order, around);
  if (least >= proposed.size_bytes) return proposed;
  if (units.free.size() <= kMostUnitsForMoves) {
    std::uint64_t size_bytes = proposed.size_bytes;
    while (size_bytes > least && best_move(parts, around, units, size_bytes)) {
    }
    if (size_bytes <= least) order = flat(units, units.free);
    proposed.size_bytes = std::min(size_bytes, least);
  } else {
    proposed.size_bytes = least;
  }
  proposed.order = std::move(order);
  return proposed;
}

}  // namespace tare::core
