// Adds growth steps to the rows of their stacks.
#include "core/analysis/chain_rows.h"

#include <bit>

namespace tare::core {
namespace {

constexpr std::uint64_t round_up_4k(std::uint64_t bytes) { return (bytes + 4095) & ~std::uint64_t{4095}; }

// The capacity that doubling gives: of the size alone, not of how it was reached, so that a chain of which sampling
// shows only a part adds up to the same.
constexpr std::uint64_t doubled(std::uint64_t bytes, std::uint64_t least) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 63;
  return std::bit_ceil(std::clamp(bytes, least, kMost));
}

// "Just enough" and fixed increments grow a buffer by less than a fifth once it is larger than five increments. The
// smallest growth factor in wide use (four size classes for each doubling, Python's lists) is about 1.19.
constexpr bool is_slow(std::uint64_t from, std::uint64_t to) {
  return static_cast<double>(to) < 1.2 * static_cast<double>(from);
}

// How many steps one that was seen stands for. Sampling decides about a block grown by realloc with the luck of the
// block before: both are seen as often as the rarer one. About a new block it decides afresh.
double of_both(GrowthKind kind, double from_weight, double to_weight) {
  return kind == GrowthKind::Realloc ? std::max(from_weight, to_weight) : from_weight * to_weight;
}

// The same for a step together with the one before it.
double of_three(const ChainState& before, const ChainStep& step, double step_weight) {
  if (before.kind == GrowthKind::MallocCopyFree) return before.predecessor_weight * step_weight;
  if (step.kind == GrowthKind::MallocCopyFree) return before.step_weight * step.to_weight;
  return std::max(before.predecessor_weight, step_weight);
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

ChainState ChainRows::step(const ChainStep& step, const ChainState* before) {
  ChainRow& row = row_of(step.stack, step.kind);
  const double weight = of_both(step.kind, step.from_weight, step.to_weight);
  const auto bytes = [](double times, std::uint64_t n) { return times * static_cast<double>(n); };
  const std::uint64_t from_4k = round_up_4k(step.from);
  const std::uint64_t to_4k = round_up_4k(step.to);
  const std::uint64_t from_doubled = doubled(step.from, 4096);
  const std::uint64_t to_doubled = doubled(step.to, 4096);

  // A chain begins at a step that follows no other. If sampling has hidden the step before, a chain is counted twice.
  // That excess is subtracted where both steps were seen, so that the mean is right (without sampling it is 0).
  const double begins = before ? weight - of_three(*before, step, weight) : weight;
  row.chains += begins;
  row.requested_bytes += bytes(begins, step.from);
  row.rounded_4k_bytes += bytes(begins, from_4k);
  row.doubling_bytes += bytes(begins, from_doubled);

  row.steps += weight;
  if (is_slow(step.from, step.to)) row.slow_steps += weight;
  if (step.move == Move::InPlace) {
    row.in_place_steps += weight;
  } else {
    row.copied_bytes += bytes(weight, step.from);
  }
  row.requested_bytes += bytes(weight, step.to);
  if (to_4k != from_4k) row.rounded_4k_bytes += bytes(weight, to_4k);
  if (to_doubled != from_doubled) row.doubling_bytes += bytes(weight, to_doubled);
  if (doubled(step.from, 1) != doubled(step.to, 1)) row.doubling_copied_bytes += bytes(weight, step.from);
  row.max_requested_bytes = std::max(row.max_requested_bytes, step.to);
  return {static_cast<std::uint32_t>(&row - rows_.data()), step.kind, weight, step.from_weight};
}

std::uint64_t ChainRows::memory_bytes() const {
  std::uint64_t bytes = rows_.capacity() * sizeof(ChainRow);
  for (const auto& of_stack : row_of_stack_) bytes += of_stack.capacity() * sizeof(std::uint32_t);
  return bytes;
}

}  // namespace tare::core
