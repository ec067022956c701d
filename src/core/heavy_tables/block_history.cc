// Follows blocks from allocation to free, to find the block of each note.
#include "core/heavy_tables/block_history.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "core/analysis/contents/content_sums.h"
#include "core/analysis/dictionary_union.h"
#include "core/analysis/ledger.h"
#include "core/analysis/record_slots.h"
#include "trace/model/content_digest.h"

namespace tare::core {
namespace {

using trace::Event;
using trace::index;

struct Row {
  std::uint64_t block;
  std::uint32_t stack;
  trace::ContentClass content_class;
  std::uint64_t requested;
  std::uint64_t usable;
  std::uint64_t high_water;
  std::uint64_t digest;  // 0: none
};

// A block that is live at a snapshot; the snapshot itself has the observed facts.
struct LiveRow {
  std::uint32_t moment;  // index in `moments`
  std::uint32_t observation;
  std::uint64_t block;
  std::uint32_t stack;
  std::uint64_t requested;
  std::uint64_t usable;
};

// The words of column `content_class` for blocks in a snapshot.
trace::ContentClass class_of(trace::BlockContent content) {
  switch (content) {
    case trace::BlockContent::Text:
      return trace::ContentClass::Text;
    case trace::BlockContent::Zeros:
      return trace::ContentClass::Zeros;
    case trace::BlockContent::Other:
    case trace::BlockContent::Unread:
      break;
  }
  return trace::ContentClass::Other;
}

constexpr std::int64_t kFrees = 0;  // the moment that stands for all of them

}  // namespace

struct BlockHistory::State {
  struct Record {
    std::uint64_t id;
    std::uint32_t shape;
    bool inherited;
  };

  State(const trace::Dictionary& own_dictionary, const trace::ProcessInfo& own_info,
        std::span<const trace::ClockPair> clock_pairs, std::vector<trace::Moment> own_snapshots,
        const LiveSet* inherited_set)
      : dictionary(own_dictionary),
        info(own_info),
        inherited(inherited_set),
        clock(clock_pairs),
        moments(std::move(own_snapshots)),
        ledger(*this, info) {
    // The candidate for the peak is written last, and lies before others.
    in_time.resize(moments.size());
    std::iota(in_time.begin(), in_time.end(), 0u);
    std::stable_sort(in_time.begin(), in_time.end(), [&](std::uint32_t a, std::uint32_t b) {
      return moments[a].events_before < moments[b].events_before;
    });
    if (!inherited) return;
    stack_of_inherited = unite(dictionary, inherited->dictionary).stack_of;
    for (const LiveSet::Block& block : inherited->blocks) {
      ledger.place(block.address, add({next_id++, index(block.shape), true}));
    }
  }

  // Ledger's view; see there. The result doesn't depend on growth chains: blocks without stacks aren't linked.
  using Dead = Record;
  void tick(std::uint64_t) {}
  bool admit(trace::ShapeId shape) const { return index(shape) < dictionary.shapes.size(); }
  std::uint64_t born(const Event& event) { return add({next_id++, index(event.shape), false}); }
  Dead died(std::uint64_t word, const Event&) {
    const Record record = records[record_of(word)];
    records.free(record_of(word));
    return record;
  }
  void continued(const Dead&, std::uint64_t&, GrowthKind, Move) {}
  trace::StackId stack(trace::ShapeId) const { return trace::kEmptyStack; }
  trace::StackId stack(const Dead&) const { return trace::kEmptyStack; }
  std::uint64_t requested_bytes(trace::ShapeId) const { return 0; }
  std::uint64_t requested_bytes(const Dead&) const { return 0; }
  std::uint32_t birth(const Dead&) const { return 0; }
  std::uint32_t last_birth() const { return 0; }
  void other(const Event&) {}

  static constexpr std::uint32_t kLive = 1u << 31;
  static std::uint32_t record_of(std::uint64_t word) { return static_cast<std::uint32_t>(word) & ~kLive; }

  std::uint64_t add(const Record& record) { return kLive | records.add(record); }

  void consume(std::span<const Event> events) {
    while (next < in_time.size()) {
      const std::uint64_t to_come = moments[in_time[next]].events_before - consumed;
      if (to_come > events.size()) break;
      ledger.consume(events.first(to_come));
      events = events.subspan(to_come);
      consumed += to_come;
      add_snapshot_blocks(in_time[next++]);
    }
    ledger.consume(events);
    consumed += events.size();
  }

  // Adds the blocks of a snapshot that this trace has, each with its number.
  void add_snapshot_blocks(std::uint32_t number) {
    const std::vector<trace::Observation>& seen = moments[number].blocks;
    for (std::uint32_t i = 0; i < seen.size(); ++i) {
      const Record* record = find(seen[i].address);
      if (record == nullptr) continue;
      const trace::Shape& facts = facts_of(*record);
      live_rows.push_back(
          {number, i, record->id, index(stack_of(*record, facts)), facts.requested_bytes, facts.usable_bytes});
    }
  }

  const Record* find(std::uint64_t address) {
    const std::uint64_t* word = ledger.map().find(address);
    return word != nullptr && BlockMap::is_live(*word) ? &records[record_of(*word)] : nullptr;
  }
  const trace::Shape& facts_of(const Record& record) const {
    return (record.inherited ? inherited->dictionary : dictionary).shapes[record.shape];
  }
  trace::StackId stack_of(const Record& record, const trace::Shape& facts) const {
    return record.inherited ? stack_of_inherited[index(facts.stack)] : facts.stack;
  }

  void end_contents(const Record& record, const HeldBytes& held) {
    if (held.unwritten_bytes == 0 && held.digest == 0) return;
    const trace::Shape& facts = facts_of(record);
    const std::uint64_t unwritten = std::min<std::uint64_t>(held.unwritten_bytes, facts.requested_bytes);
    rows.push_back({record.id, index(stack_of(record, facts)), held.content_class, facts.requested_bytes,
                    facts.usable_bytes, facts.requested_bytes - unwritten, held.digest});
  }

  Table observations_table() const {
    TableBuilder table("block_history");
    const auto int_column = [&](const char* name) { return table.column(name); };
    const auto moment = int_column("snapshot");
    const auto block_id = int_column("block_id");
    const auto stack_id = int_column("stack_id");
    const auto requested = int_column("requested_bytes");
    const auto usable = int_column("usable_bytes");
    const auto high_water = int_column("high_water_bytes");
    const auto digest = int_column("digest");
    const auto content_class = table.column("content_class", content_class_words());
    const auto starts = int_column("start_pointers");
    const auto interiors = int_column("interior_pointers");
    const auto reachable = table.column("reachable", {"no", "interior", "start"});
    const auto last_write = int_column("last_write_ns");
    table.reserve(rows.size() + live_rows.size());
    for (const Row& row : rows) {
      table.add(moment, kFrees);
      table.add(block_id, to_column(row.block));
      table.add(stack_id, std::int64_t{row.stack});
      table.add(requested, to_column(row.requested));
      table.add(usable, to_column(row.usable));
      table.add(high_water, to_column(row.high_water));
      table.add(digest, row.digest == 0 ? std::nullopt : std::optional(to_column(row.digest)));
      // The contents of larger blocks weren't read.
      if (row.requested <= trace::kMostDigestedBytes || row.high_water == 0) {
        const auto shown = row.high_water == 0 ? trace::ContentClass::None : row.content_class;
        table.add_code(content_class, static_cast<std::int32_t>(shown));
      } else {
        table.add_null(content_class);
      }
      for (const auto column : {starts, interiors, reachable, last_write}) table.add_null(column);
    }
    for (const LiveRow& row : live_rows) {
      const trace::Moment& at = moments[row.moment];
      const trace::Observation& seen = at.blocks[row.observation];
      const bool is_read = seen.content != trace::BlockContent::Unread;
      const bool is_marked = seen.reach != trace::Reach::Unknown;
      const auto where = [&](bool is_known, std::uint64_t value) {
        return is_known ? std::optional(to_column(value)) : std::nullopt;
      };
      const std::uint64_t now = clock.ns(at.stamp);
      table.add(moment, std::int64_t{row.moment} + 1);
      table.add(block_id, to_column(row.block));
      table.add(stack_id, std::int64_t{row.stack});
      table.add(requested, to_column(row.requested));
      table.add(usable, to_column(row.usable));
      table.add(high_water, where(seen.high_water_bytes.has_value(), seen.high_water_bytes.value_or(0)));
      table.add(digest, where(is_read, seen.digest >> 1));  // as in snapshot_blocks
      if (is_read) {
        table.add_code(content_class, static_cast<std::int32_t>(class_of(seen.content)));
      } else {
        table.add_null(content_class);
      }
      table.add(starts, where(is_marked && is_read, seen.start_pointers));
      table.add(interiors, where(is_marked && is_read, seen.interior_pointers));
      if (is_marked) {
        table.add_code(reachable, static_cast<std::int32_t>(seen.reach) - 1);
      } else {
        table.add_null(reachable);
      }
      const std::uint64_t unchanged = seen.unchanged_ns.value_or(0);
      table.add(last_write, where(seen.unchanged_ns.has_value(), now - std::min(now, unchanged)));
    }
    return table.take();
  }

  const trace::Dictionary& dictionary;
  const trace::ProcessInfo& info;
  const LiveSet* inherited;
  std::vector<trace::StackId> stack_of_inherited;
  RecordSlots<Record> records;
  std::uint64_t next_id = 0;
  trace::Clock clock;
  std::vector<trace::Moment> moments;
  std::vector<std::uint32_t> in_time;  // of `moments`
  std::size_t next = 0;                // of `in_time`
  std::uint64_t consumed = 0;          // events
  std::vector<Row> rows;
  std::vector<LiveRow> live_rows;
  Ledger<State> ledger;
};

BlockHistory::BlockHistory(const trace::Dictionary& dictionary, const trace::ProcessInfo& info,
                           std::span<const trace::ClockPair> clock_pairs, std::vector<trace::Moment> moments,
                           const LiveSet* inherited)
    : state_(std::make_unique<State>(dictionary, info, clock_pairs, std::move(moments), inherited)) {}

BlockHistory::~BlockHistory() = default;

void BlockHistory::consume(std::span<const Event> events) { state_->consume(events); }

Tables BlockHistory::finish() {
  Tables tables;
  tables.put(state_->observations_table());
  return tables;
}

}  // namespace tare::core
