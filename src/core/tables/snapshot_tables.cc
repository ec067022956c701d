// A row for each snapshot, a row for each block in it: see snapshot_tables.h.
#include "core/tables/snapshot_tables.h"
#include "core/analysis/dictionary_union.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "core/analysis/shape_sums.h"

namespace tare::core {
namespace {

using trace::Observation;

std::optional<std::int64_t> optional_column(const std::optional<std::uint64_t>& value) {
  if (!value) return std::nullopt;
  return to_column(*value);
}

constexpr std::int32_t kSuppressed = 3;  // of column `reachable`

// The shape of an observed block. One that is older than the segment has none of the trace's: it's the block at its
// address that was live when the segment began, or a later one there would have a shape. Blocks that a forked child
// inherited aren't searched.
class SnapshotSizes {
 public:
  struct Found {
    std::uint32_t id;    // as Replay's tables have it
    trace::Shape facts;  // its stack, too
  };
  SnapshotSizes(const trace::Dictionary& dictionary, const trace::LiveSet& before) : dictionary_(dictionary) {
    if (before.blocks.empty()) return;
    inherited_ = before.dictionary.shapes;
    const std::vector<trace::StackId> stacks = unite(dictionary, before.dictionary).stack_of;
    for (trace::Shape& shape : inherited_) shape.stack = stacks[trace::index(shape.stack)];
    for (const trace::LiveSet::Block& block : before.blocks) at_.try_emplace(block.address, trace::index(block.shape));
  }

  std::optional<Found> find(const Observation& block) const {
    if (block.shape != trace::kNoShape) {
      return Found{trace::index(block.shape), dictionary_.shapes[trace::index(block.shape)]};
    }
    const auto found = at_.find(block.address);
    if (found == at_.end()) return std::nullopt;
    return Found{static_cast<std::uint32_t>(dictionary_.shapes.size()) + found->second, inherited_[found->second]};
  }

 private:
  const trace::Dictionary& dictionary_;
  trace::LargeVector<trace::Shape> inherited_;
  std::unordered_map<std::uint64_t, std::uint32_t> at_;  // by address
};

class SnapshotRows {
 public:
  SnapshotRows(const trace::OpenedTrace& trace, const SnapshotSizes& shapes,
               const std::vector<trace::StackId>& suppressed)
      : shapes_(shapes), info_(trace.info()), suppressed_(suppressed), clock_(trace.clock_pairs()) {}

  void add(const trace::Moment& moment) {
    ++number_;
    double gross = 0;
    double known = 0;
    for (const Observation& block : moment.blocks) {
      const std::optional<SnapshotSizes::Found> found = shapes_.find(block);
      if (!found) continue;
      const trace::Shape& shape = found->facts;
      const double weight = info_.sample_bytes != 0 ? shape.weight : 1.0;
      const std::uint64_t usable = shape.usable_bytes;
      gross += weight * static_cast<double>(usable + header_bytes(info_.allocator, shape));
      known += weight;
      add(block, *found, moment);
    }
    snapshots_.add(m_snapshot_, number_);
    snapshots_.add_code(m_kind_, static_cast<std::int32_t>(moment.kind));
    snapshots_.add(m_name_, std::string_view(moment.name));
    snapshots_.add(m_time_, to_column(clock_.ns(moment.stamp)));
    snapshots_.add(m_blocks_, std::int64_t{std::llround(known)});
    snapshots_.add(m_gross_, std::int64_t{std::llround(gross)});
    snapshots_.add(m_root_bytes_, to_column(moment.root_bytes));
    snapshots_.add(m_unread_, to_column(moment.unread_bytes));
    snapshots_.add(m_frozen_, to_column(moment.frozen_ns));
    snapshots_.add(m_cost_, to_column(moment.cost_ns));
    if (moment.memory.empty()) {
      snapshots_.add_null(m_absent_);
    } else {
      snapshots_.add(m_absent_, to_column(moment.absent_bytes));
    }
    for (const trace::MemoryPart& part : moment.memory) {
      memory_.add(r_snapshot_, number_);
      memory_.add_code(r_kind_, static_cast<std::int32_t>(part.kind) - 1);
      memory_.add(r_name_, std::string_view(part.name));
      memory_.add(r_mapped_, to_column(part.mapped_bytes));
      memory_.add(r_resident_, to_column(part.resident_bytes));
      memory_.add(r_touched_, moment.touches_known ? std::optional(to_column(part.touched_bytes)) : std::nullopt);
    }
  }

  // Each block's contents at its free are in table block_history.
  void add_frees() {
    snapshots_.add(m_snapshot_, std::int64_t{0});
    snapshots_.add_code(m_kind_, 0);
    snapshots_.add(m_name_, std::string_view());
    for (const Id column : {m_time_, m_blocks_, m_gross_, m_root_bytes_, m_unread_, m_frozen_, m_cost_, m_absent_}) {
      snapshots_.add_null(column);
    }
  }

  void put_into(Tables& tables) {
    tables.put(snapshots_.take());
    tables.put(blocks_.take());
    tables.put(memory_.take());
  }

 private:
  void add(const Observation& block, const SnapshotSizes::Found& found, const trace::Moment& moment) {
    const trace::Shape& shape = found.facts;
    const bool read = block.content != trace::BlockContent::Unread;
    const bool marked = block.reach != trace::Reach::Unknown;
    const std::uint64_t now = clock_.ns(moment.stamp);
    blocks_.add(b_snapshot_, number_);
    blocks_.add(b_address_, to_column(block.address));
    blocks_.add(b_shape_, std::int64_t{found.id});
    blocks_.add(b_stack_, std::int64_t{trace::index(shape.stack)});
    blocks_.add(b_requested_, to_column(shape.requested_bytes));
    blocks_.add(b_usable_, to_column(shape.usable_bytes));
    blocks_.add(b_header_, to_column(header_bytes(info_.allocator, shape)));
    blocks_.add(b_weight_, info_.sample_bytes != 0 ? shape.weight : 1.0);
    // Two halves of a 64-bit digest would be two columns; 63 bits of it fit SQL's integers.
    blocks_.add(b_digest_,
                read ? std::optional<std::int64_t>(static_cast<std::int64_t>(block.digest >> 1)) : std::nullopt);
    if (read) {
      blocks_.add_code(b_class_, static_cast<std::int32_t>(block.content) - 1);
    } else {
      blocks_.add_null(b_class_);
    }
    blocks_.add(b_starts_, marked && read ? std::optional<std::int64_t>(block.start_pointers) : std::nullopt);
    blocks_.add(b_interiors_, marked && read ? std::optional<std::int64_t>(block.interior_pointers) : std::nullopt);
    const bool is_leak = block.leak_root < moment.blocks.size();
    if (marked) {
      const bool is_suppressed = block.reach == trace::Reach::None &&
                                 (is_suppressed_stack(shape.stack) ||
                                  (is_leak && is_suppressed_stack(stack_of(moment.blocks[block.leak_root]))));
      blocks_.add_code(b_reach_, is_suppressed ? kSuppressed : static_cast<std::int32_t>(block.reach) - 1);
    } else {
      blocks_.add_null(b_reach_);
    }
    blocks_.add(b_root_, is_leak ? std::optional<std::int64_t>(to_column(moment.blocks[block.leak_root].address))
                                 : std::nullopt);
    blocks_.add(b_written_, block.unchanged_ns
                                ? std::optional<std::int64_t>(to_column(now - std::min(now, *block.unchanged_ns)))
                                : std::nullopt);
    blocks_.add(b_high_water_, optional_column(block.high_water_bytes));
  }

  trace::StackId stack_of(const Observation& block) const {
    const std::optional<SnapshotSizes::Found> found = shapes_.find(block);
    return found ? found->facts.stack : trace::kEmptyStack;
  }
  bool is_suppressed_stack(trace::StackId stack) const {
    return std::binary_search(suppressed_.begin(), suppressed_.end(), stack);
  }

  const SnapshotSizes& shapes_;
  const trace::ProcessInfo& info_;
  const std::vector<trace::StackId>& suppressed_;
  trace::Clock clock_;
  std::int64_t number_ = 0;

  using Id = TableBuilder::ColumnId;
  TableBuilder snapshots_{"snapshots"};
  Id m_snapshot_ = snapshots_.column("snapshot");
  Id m_kind_ = snapshots_.column("kind", {"free", "exit", "peak", "request"});
  Id m_name_ = snapshots_.column("name");
  Id m_time_ = snapshots_.column("time_ns");
  Id m_blocks_ = snapshots_.column("blocks");
  Id m_gross_ = snapshots_.column("gross_bytes");
  Id m_root_bytes_ = snapshots_.column("root_bytes");
  Id m_unread_ = snapshots_.column("unread_bytes");
  Id m_frozen_ = snapshots_.column("frozen_ns");
  Id m_cost_ = snapshots_.column("cost_ns");
  Id m_absent_ = snapshots_.column("absent_bytes");
  TableBuilder memory_{"resident"};
  Id r_snapshot_ = memory_.column("snapshot");
  Id r_kind_ = memory_.column("kind", {"heap", "stack", "file", "mapping", "recorder", "other"});
  Id r_name_ = memory_.column("name");
  Id r_mapped_ = memory_.column("mapped_bytes");
  Id r_resident_ = memory_.column("resident_bytes");
  Id r_touched_ = memory_.column("touched_bytes");
  TableBuilder blocks_{"snapshot_blocks"};
  Id b_snapshot_ = blocks_.column("snapshot");
  Id b_address_ = blocks_.column("address");
  Id b_shape_ = blocks_.column("size_id");
  Id b_stack_ = blocks_.column("stack_id");
  Id b_requested_ = blocks_.column("requested_bytes");
  Id b_usable_ = blocks_.column("usable_bytes");
  Id b_header_ = blocks_.column("header_bytes");
  Id b_weight_ = blocks_.column("weight");
  Id b_digest_ = blocks_.column("digest");
  Id b_class_ = blocks_.column("content_class", {"zeros", "text", "other"});
  Id b_starts_ = blocks_.column("start_pointers");
  Id b_interiors_ = blocks_.column("interior_pointers");
  Id b_reach_ = blocks_.column("reachable", {"no", "interior", "start", "suppressed"});
  Id b_root_ = blocks_.column("leak_root");
  Id b_written_ = blocks_.column("last_write_ns");
  Id b_high_water_ = blocks_.column("high_water_bytes");
};

}  // namespace

Status make_snapshot_tables(const trace::OpenedTrace& trace, const std::vector<trace::StackId>& suppressed,
                            Tables& tables) {
  const SnapshotSizes shapes(trace.dictionary(), trace.live_before());
  SnapshotRows rows(trace, shapes, suppressed);
  if (trace.info().contents_recorded) rows.add_frees();
  const Status read = trace.read_moments([&](const trace::Moment& moment) { rows.add(moment); });
  rows.put_into(tables);
  return read;
}

Result<std::vector<trace::StackId>> leaking_stacks(const trace::OpenedTrace& trace) {
  std::vector<trace::StackId> stacks;
  const SnapshotSizes shapes(trace.dictionary(), trace.live_before());
  const Status read = trace.read_moments([&](const trace::Moment& moment) {
    for (const Observation& block : moment.blocks) {
      if (block.reach != trace::Reach::None) continue;
      const std::optional<SnapshotSizes::Found> found = shapes.find(block);
      if (!found) continue;
      const trace::StackId stack = found->facts.stack;
      if (stacks.empty() || stacks.back() != stack) stacks.push_back(stack);
    }
    std::sort(stacks.begin(), stacks.end());
    stacks.erase(std::unique(stacks.begin(), stacks.end()), stacks.end());
  });
  if (!read) return read.error();
  return stacks;
}

}  // namespace tare::core
