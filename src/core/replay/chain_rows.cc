// What one growth step adds to its row.
#include "core/replay/chain_rows.h"

namespace tare::core {
namespace {

constexpr std::uint64_t round_up_4k(std::uint64_t bytes) { return (bytes + 4095) & ~std::uint64_t{4095}; }

// Growing by less than a fifth is what "just enough" and fixed increments look like once a buffer is larger than five
// of them; the smallest factor in wide use that isn't (size classes spaced four a doubling, Python's lists) is
// about 1.19.
constexpr bool is_slow(std::uint64_t from, std::uint64_t to) {
  return static_cast<double>(to) < 1.2 * static_cast<double>(from);
}

}  // namespace

ChainRow& ChainRows::row_of(trace::StackId stack, GrowthKind kind) {
  auto& of_stack = row_of_stack_[static_cast<std::size_t>(kind)];
  const std::uint32_t at = trace::index(stack);
  if (at >= of_stack.size()) of_stack.resize(std::max<std::size_t>(at + std::size_t{1}, of_stack.size() * 2));
  if (of_stack[at] == 0) {
    ChainRow row{};
    row.stack = stack;
    row.kind = kind;
    rows_.push_back(row);
    of_stack[at] = static_cast<std::uint32_t>(rows_.size());
  }
  return rows_[of_stack[at] - 1];
}

void ChainRows::step(ChainState& state, Link link, trace::StackId stack, GrowthKind kind, Move move, std::uint64_t from,
                     std::uint64_t to, double weight) {
  ChainRow& row = row_of(stack, kind);
  const auto bytes = [weight](std::uint64_t n) { return weight * static_cast<double>(n); };
  const std::uint64_t from_4k = round_up_4k(from);
  const std::uint64_t to_4k = round_up_4k(to);
  if (link == Link::First) {
    state.doubling_bytes = from;
    state.doubling_4k_bytes = from_4k;
    row.chains += weight;
    row.requested_bytes += bytes(from);
    row.rounded_4k_bytes += bytes(from_4k);
    row.doubling_bytes += bytes(from_4k);
  }
  row.steps += weight;
  if (is_slow(from, to)) row.slow_steps += weight;
  if (move == Move::InPlace) {
    row.in_place_steps += weight;
  } else {
    row.copied_bytes += bytes(from);
  }
  row.requested_bytes += bytes(to);
  if (to_4k != from_4k) row.rounded_4k_bytes += bytes(to_4k);
  if (to > state.doubling_bytes) {
    state.doubling_bytes = std::max(2 * state.doubling_bytes, to);
    row.doubling_copied_bytes += bytes(from);
  }
  if (to > state.doubling_4k_bytes) {
    state.doubling_4k_bytes = std::max(2 * state.doubling_4k_bytes, to_4k);
    row.doubling_bytes += bytes(state.doubling_4k_bytes);
  }
  row.max_requested_bytes = std::max(row.max_requested_bytes, to);
  state.row = static_cast<std::uint32_t>(&row - rows_.data());
}

std::uint64_t ChainRows::memory_bytes() const {
  std::uint64_t bytes = rows_.capacity() * sizeof(ChainRow);
  for (const auto& of_stack : row_of_stack_) bytes += of_stack.capacity() * sizeof(std::uint32_t);
  return bytes;
}

}  // namespace tare::core
