// A block's word in the ledger is its cell: shape and thread.
#include "core/heavy_tables/thread_sizes.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "core/analysis/dictionary_union.h"
#include "core/analysis/ledger.h"
#include "core/analysis/shape_sums.h"
#include "core/heavy_tables/stamps.h"
#include "trace/base/large_vector.h"
#include "trace/base/mix_hash.h"
#include "trace/model/id_table.h"
#include "trace/open/open_trace.h"

namespace tare::core {
namespace {

using trace::Event;
using trace::index;

constexpr std::uint32_t kNoCell = ~0u;

// Every event accesses one cell. With a million shapes, most accesses miss the cache: cells are small.
struct ThreadCell {
  std::uint64_t total = 0;  // without inherited blocks
  std::uint64_t live = 0;
  std::uint32_t second = kNoCell;  // the second thread's, of a shape's first thread
  std::uint16_t thread = 0;
  bool is_used = false;
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
    cells.resize(own_shapes + (inherited ? inherited->dictionary.shapes.size() : 0));
    shape_count = cells.size();
    if (!inherited) return;
    stack_of_inherited = unite(dictionary, inherited->dictionary).stack_of;
    for (const LiveSet::Block& block : inherited->blocks) {
      const std::uint32_t cell = cell_of(static_cast<std::uint32_t>(own_shapes) + index(block.shape), 0);
      ++cells[cell].live;
      ledger.place(block.address, word_of(cell));
    }
  }

  // LedgerBooks:
  void tick(std::uint64_t stamp) {
    if (stamp < peak_begin && stamp <= at_end) [[likely]]
      return;
    if (!is_at_passed && stamp > at_end) {
      at = live_blocks();
      is_at_passed = true;
    }
    if (stamp < peak_begin || is_peak_passed) return;
    if (stamp > peak_end) {
      take_peak();
    } else {
      is_at_peak = true;
    }
  }
  bool admit(trace::ShapeId shape) const { return index(shape) < own_shapes; }

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

  void foresee_end(std::uint64_t word) const {
    if (const std::uint64_t cell = word >> 32; cell < cells.size()) __builtin_prefetch(&cells[cell], 1);
  }
  // Inlined early, as BlockMap::prefetch is.
  [[gnu::always_inline]] void foresee_births(std::span<const Event> events) const {
    for (const Event& event : events) {
      if (admit(event.shape)) __builtin_prefetch(&cells[index(event.shape)], 1);
    }
  }

  // The cell, and one of BlockMap's live bits.
  static std::uint64_t word_of(std::uint32_t cell) { return std::uint64_t{cell} << 32 | 1u << 31; }

  // A shape's first thread has the cell of the shape's number, and usually there is no other. A hash table for all
  // threads took a third of the whole walk.
  std::uint32_t cell_of(std::uint32_t shape, std::uint16_t thread) {
    ThreadCell& first = cells[shape];
    if (!first.is_used) {
      first.thread = thread;
      first.is_used = true;
    }
    if (first.thread == thread) return shape;
    if (first.second != kNoCell && cells[first.second].thread == thread) return first.second;
    const std::uint32_t cell = others.find_or_make(
        trace::mix_hash(shape, thread),
        [&](std::uint32_t place) { return cells[place].thread == thread && shape_of(place) == shape; },
        [&] {
          trace::make_room(cells, cells.size() + 1);
          cells.push_back({.thread = thread, .is_used = true});
          shapes_of_added.push_back(shape);
          return static_cast<std::uint32_t>(cells.size() - 1);
        });
    if (cells[shape].second == kNoCell) cells[shape].second = cell;
    return cell;
  }
  std::uint32_t shape_of(std::size_t cell) const {
    return cell < shape_count ? static_cast<std::uint32_t>(cell) : shapes_of_added[cell - shape_count];
  }
  std::vector<std::uint64_t> live_blocks() const {
    std::vector<std::uint64_t> blocks;
    blocks.reserve(cells.size());
    for (const ThreadCell& cell : cells) blocks.push_back(cell.live);
    return blocks;
  }
  // Cells that came later had no blocks then.
  static std::uint64_t of(const std::vector<std::uint64_t>& blocks, std::size_t cell) {
    return cell < blocks.size() ? blocks[cell] : 0;
  }

  const trace::Shape& facts(std::uint32_t shape) const {
    return shape < own_shapes ? dictionary.shapes[shape] : inherited->dictionary.shapes[shape - own_shapes];
  }
  double weight(const trace::Shape& shape) const { return info.sample_bytes != 0 ? shape.weight : 1.0; }

  // Events share time stamps, and the peak may lie between two of one stamp: changes at the time of the peak are kept,
  // and those behind the largest state are taken back.
  void changed(std::uint32_t cell, int change) {
    const trace::Shape& shape = facts(shape_of(cell));
    gross += change * weight(shape) * static_cast<double>(shape.usable_bytes + header_bytes(info.allocator, shape));
    changes.emplace_back(cell, change);
    if (gross > max_gross) {
      max_gross = gross;
      changes_to_peak = changes.size();
    }
  }

  void take_peak() {
    peak = live_blocks();
    for (std::size_t number = changes_to_peak; number < changes.size(); ++number) {
      const auto [cell, change] = changes[number];
      peak[cell] -= static_cast<std::uint64_t>(static_cast<std::int64_t>(change));
    }
    is_at_peak = false;
    is_peak_passed = true;
  }

  Table table() {
    if (!is_peak_passed) take_peak();
    if (!is_at_passed) at = live_blocks();
    TableBuilder table("thread_sizes");
    const auto size_id = table.column("size_id");
    const auto stack_id = table.column("stack_id");
    const auto thread = table.column("thread");
    const auto total_blocks = table.column("total_blocks");
    const auto peak_blocks = table.column("peak_blocks");
    const auto end_blocks = table.column("end_blocks");
    const auto at_blocks = table.column("at_blocks");
    table.reserve(cells.size());
    for (std::size_t number = 0; number < cells.size(); ++number) {
      const ThreadCell& cell = cells[number];
      if (!cell.is_used) continue;
      const std::uint32_t shape_id = shape_of(number);
      const trace::Shape& shape = facts(shape_id);
      const double each = weight(shape);
      const bool is_own = shape_id < own_shapes;
      table.add(size_id, std::int64_t{shape_id});
      table.add(stack_id, std::int64_t{index(is_own ? shape.stack : stack_of_inherited[index(shape.stack)])});
      table.add(thread, is_own ? std::optional<std::int64_t>(cell.thread) : std::nullopt);
      table.add(total_blocks, each * static_cast<double>(cell.total));
      table.add(peak_blocks, each * static_cast<double>(of(peak, number)));
      table.add(end_blocks, each * static_cast<double>(cell.live));
      if (has_at) {
        table.add(at_blocks, each * static_cast<double>(of(at, number)));
      } else {
        table.add_null(at_blocks);
      }
    }
    return table.take();
  }

  const trace::Dictionary& dictionary;
  const trace::ProcessInfo& info;
  const LiveSet* inherited;
  std::vector<trace::StackId> stack_of_inherited;
  const std::size_t own_shapes = dictionary.shapes.size();
  std::size_t shape_count = 0;  // with those of inherited blocks
  trace::LargeVector<ThreadCell> cells;
  std::vector<std::uint32_t> shapes_of_added;  // of the cells behind those of all shapes
  trace::IdTable others;                       // of cells: by shape and thread, from the second thread on
  std::vector<std::uint64_t> peak, at;         // live blocks by cell
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

void ThreadSizes::consume(std::span<const Event> events) {
  constexpr std::size_t kForeseen = 256;  // events: their cells stay in the cache until they are used
  while (!events.empty()) {
    const auto some = events.first(std::min(events.size(), kForeseen));
    state_->foresee_births(some);
    state_->ledger.consume(some);
    events = events.subspan(some.size());
  }
}

Table ThreadSizes::finish() { return state_->table(); }

}  // namespace tare::core
