// A block's word in the ledger is its cell: shape and thread.
#include "core/heavy_tables/thread_sizes.h"

#include <limits>
#include <utility>
#include <vector>

#include "core/analysis/dictionary_union.h"
#include "core/analysis/ledger.h"
#include "core/analysis/shape_sums.h"
#include "core/heavy_tables/stamps.h"
#include "trace/base/mix_hash.h"
#include "trace/model/id_table.h"
#include "trace/open/open_trace.h"

namespace tare::core {
namespace {

using trace::Event;
using trace::index;

struct ThreadCell {
  std::uint32_t shape = 0;
  std::uint16_t thread = 0;
  std::uint64_t total = 0;  // without inherited blocks
  std::uint64_t live = 0;
  std::uint64_t peak = 0;
  std::uint64_t at = 0;
};

}  // namespace

struct ThreadSizes::State : BooksWithoutGrowth {
  State(const trace::Dictionary& own_dictionary, const trace::ProcessInfo& own_info,
        std::span<const trace::ClockPair> clock_pairs, const Times& times, const LiveSet* inherited_set)
      : dictionary(own_dictionary), info(own_info), inherited(inherited_set), ledger(*this, own_info) {
    const trace::Clock clock(clock_pairs);
    peak_begin = times.peak_ns == 0 ? 0 : last_stamp_at(clock, times.peak_ns - 1) + 1;
    peak_end = last_stamp_at(clock, times.peak_ns);
    if (times.at_ns) at_end = last_stamp_at(clock, *times.at_ns);
    has_at = times.at_ns.has_value();
    if (!inherited) return;
    stack_of_inherited = unite(dictionary, inherited->dictionary).stack_of;
    const auto own_shapes = static_cast<std::uint32_t>(dictionary.shapes.size());
    for (const LiveSet::Block& block : inherited->blocks) {
      const std::uint32_t cell = cell_of(own_shapes + index(block.shape), 0);
      ++cells[cell].live;
      ledger.place(block.address, word_of(cell));
    }
  }

  // LedgerBooks:
  void tick(std::uint64_t stamp) {
    if (stamp < peak_begin && stamp <= at_end) [[likely]]
      return;
    if (!is_at_passed && stamp > at_end) {
      for (ThreadCell& cell : cells) cell.at = cell.live;
      is_at_passed = true;
    }
    if (stamp < peak_begin || is_peak_passed) return;
    if (stamp > peak_end) {
      take_peak();
    } else {
      is_at_peak = true;
    }
  }
  bool admit(trace::ShapeId shape) const { return index(shape) < dictionary.shapes.size(); }

  std::uint64_t born(const Event& event) {
    const std::uint32_t cell = cell_of(index(event.shape), event.thread);
    ++cells[cell].total;
    ++cells[cell].live;
    if (is_at_peak) [[unlikely]]
      changed(cell, 1);
    return word_of(cell);
  }
  Dead died(std::uint64_t word, const Event&) {
    const auto cell = static_cast<std::uint32_t>(word >> 32);
    --cells[cell].live;
    if (is_at_peak) [[unlikely]]
      changed(cell, -1);
    return {};
  }

  // The cell, and one of BlockMap's live bits.
  static std::uint64_t word_of(std::uint32_t cell) { return std::uint64_t{cell} << 32 | 1u << 31; }

  std::uint32_t cell_of(std::uint32_t shape, std::uint16_t thread) {
    if (last_cell < cells.size() && cells[last_cell].shape == shape && cells[last_cell].thread == thread)
      return last_cell;
    last_cell = places.find_or_make(
        trace::mix_hash(shape, thread),
        [&](std::uint32_t place) { return cells[place].shape == shape && cells[place].thread == thread; },
        [&] {
          cells.push_back({shape, thread});
          return static_cast<std::uint32_t>(cells.size() - 1);
        });
    return last_cell;
  }

  const trace::Shape& facts(std::uint32_t shape) const {
    const std::size_t own_shapes = dictionary.shapes.size();
    return shape < own_shapes ? dictionary.shapes[shape] : inherited->dictionary.shapes[shape - own_shapes];
  }
  double weight(const trace::Shape& shape) const { return info.sample_bytes != 0 ? shape.weight : 1.0; }

  // Events share time stamps, and the peak may lie between two of one stamp: changes at the time of the peak are kept,
  // and those behind the largest state are taken back.
  void changed(std::uint32_t cell, int change) {
    const trace::Shape& shape = facts(cells[cell].shape);
    gross += change * weight(shape) * static_cast<double>(shape.usable_bytes + header_bytes(info.allocator, shape));
    changes.emplace_back(cell, change);
    if (gross > max_gross) {
      max_gross = gross;
      changes_to_peak = changes.size();
    }
  }

  void take_peak() {
    for (ThreadCell& cell : cells) cell.peak = cell.live;
    for (std::size_t at = changes_to_peak; at < changes.size(); ++at) {
      const auto [cell, change] = changes[at];
      cells[cell].peak -= static_cast<std::uint64_t>(static_cast<std::int64_t>(change));
    }
    is_at_peak = false;
    is_peak_passed = true;
  }

  Table table() {
    if (!is_peak_passed) take_peak();
    if (!is_at_passed) {
      for (ThreadCell& cell : cells) cell.at = cell.live;
    }
    const std::size_t own_shapes = dictionary.shapes.size();
    TableBuilder table("thread_sizes");
    const auto size_id = table.column("size_id");
    const auto stack_id = table.column("stack_id");
    const auto thread = table.column("thread");
    const auto total = table.column("total_blocks");
    const auto peak = table.column("peak_blocks");
    const auto end = table.column("end_blocks");
    const auto at = table.column("at_blocks");
    table.reserve(cells.size());
    for (const ThreadCell& cell : cells) {
      const trace::Shape& shape = facts(cell.shape);
      const double each = weight(shape);
      const bool is_own = cell.shape < own_shapes;
      table.add(size_id, std::int64_t{cell.shape});
      table.add(stack_id, std::int64_t{index(is_own ? shape.stack : stack_of_inherited[index(shape.stack)])});
      table.add(thread, is_own ? std::optional<std::int64_t>(cell.thread) : std::nullopt);
      table.add(total, each * static_cast<double>(cell.total));
      table.add(peak, each * static_cast<double>(cell.peak));
      table.add(end, each * static_cast<double>(cell.live));
      if (has_at) {
        table.add(at, each * static_cast<double>(cell.at));
      } else {
        table.add_null(at);
      }
    }
    return table.take();
  }

  const trace::Dictionary& dictionary;
  const trace::ProcessInfo& info;
  const LiveSet* inherited;
  std::vector<trace::StackId> stack_of_inherited;
  std::vector<ThreadCell> cells;
  trace::IdTable places;
  std::uint32_t last_cell = 0;
  // Stamps. The peak is between the first and the last.
  std::uint64_t peak_begin = 0;
  std::uint64_t peak_end = 0;
  std::uint64_t at_end = std::numeric_limits<std::uint64_t>::max();
  bool has_at = false;
  bool is_at_passed = false;
  bool is_at_peak = false;
  bool is_peak_passed = false;
  std::vector<std::pair<std::uint32_t, int>> changes;  // at the time of the peak
  std::size_t changes_to_peak = 0;
  double gross = 0;  // since the first of them
  double max_gross = 0;
  Ledger<State> ledger;
};

ThreadSizes::ThreadSizes(const trace::Dictionary& dictionary, const trace::ProcessInfo& info,
                         std::span<const trace::ClockPair> clock_pairs, const Times& times, const LiveSet* inherited)
    : state_(std::make_unique<State>(dictionary, info, clock_pairs, times, inherited)) {}

ThreadSizes::~ThreadSizes() = default;

void ThreadSizes::consume(std::span<const Event> events) { state_->ledger.consume(events); }

Table ThreadSizes::finish() { return state_->table(); }

}  // namespace tare::core
