// What is kept of a live block to know which reports it has, and a row for every report.
#include "core/replay/program_reports.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <unordered_map>

#include "core/replay/block_around.h"
#include "core/replay/ledger.h"
#include "core/replay/program_pools.h"
#include "core/replay/record_slots.h"
#include "trace/open_trace.h"
#include "trace/program_note.h"

namespace tare::core {
namespace {

using trace::Event;
using trace::EventKind;
using trace::index;

// The reports of one block that stand.
struct Standing {
  std::uint32_t round = 0;          // of in_round
  std::uint32_t in_round = 0;       // those before are cleared
  std::uint32_t from_on_alloc = 0;  // these stay

  // Counts one more, and gives their number.
  std::uint32_t add(std::uint32_t now, std::uint8_t on_alloc) {
    if (round != now) in_round = 0;
    round = now;
    ++(on_alloc != 0 ? from_on_alloc : in_round);
    return from_on_alloc + in_round;
  }
};

struct Record {
  std::uint64_t id;
  std::uint32_t shape;
  bool inherited;
  Standing reports;
};

struct Row {
  std::uint64_t address;
  std::uint64_t time_ns;
  std::optional<std::uint64_t> block;
  std::optional<std::uint64_t> pool_block;
  std::uint64_t requested = 0;
  std::uint64_t usable = 0;
  double weight = 1;
  trace::NameId path;
  std::uint32_t round;
  std::uint32_t nth = 1;
  std::uint16_t thread;
  std::uint8_t on_alloc;
};

}  // namespace

struct ProgramReports::State {
  State(const trace::Dictionary& own_dictionary, const trace::ProcessInfo& own_info,
        std::span<const trace::ClockPair> clock_pairs, const LiveSet* inherited_set)
      : dictionary(own_dictionary),
        is_sampled(own_info.sample_bytes != 0),
        clock(clock_pairs),
        inherited(inherited_set),
        ledger(*this, is_sampled ? Ledger<State>::Coverage::Sample : Ledger<State>::Coverage::Everything),
        pools(own_dictionary) {
    if (!inherited) return;
    for (const LiveSet::Block& block : inherited->blocks) {
      ledger.place(block.address, add({next_id++, index(block.shape), true, {}}));
    }
  }

  // Ledger's view; see there.
  struct Dead {};
  void tick(std::uint64_t) {}
  bool admit(trace::ShapeId shape) const { return index(shape) < dictionary.shapes.size(); }
  std::uint64_t born(const Event& event) { return add({next_id++, index(event.shape), false, {}}); }
  Dead died(std::uint64_t word, const Event&) {
    records.free(record_of(word));
    return {};
  }
  // Nothing here depends on what a block continues: without stacks nothing is linked.
  void continued(const Dead&, std::uint64_t&, GrowthKind, Move) {}
  trace::StackId stack(trace::ShapeId) const { return trace::kEmptyStack; }
  trace::StackId stack(const Dead&) const { return trace::kEmptyStack; }
  std::uint64_t requested_bytes(trace::ShapeId) const { return 0; }
  std::uint64_t requested_bytes(const Dead&) const { return 0; }
  std::uint32_t birth(const Dead&) const { return 0; }
  std::uint32_t last_birth() const { return 0; }
  void other(const Event& event) {
    if (event.kind == EventKind::Report) return report(event);
    if (event.kind == EventKind::ClearReports) {
      ++round;
    } else if (PoolLedger<ProgramPools>::is_pool_event(event.kind)) {
      const bool is_memory = event.kind == EventKind::PoolGrow;
      pools.consume(event, clock.ns(event.stamp),
                    is_memory ? heap_block_around(trace::pool_address(event.address)) : std::nullopt);
    }
  }

  static constexpr std::uint32_t kLive = 1u << 31;
  static std::uint32_t record_of(std::uint64_t word) { return static_cast<std::uint32_t>(word) & ~kLive; }

  const trace::Shape& shape(const Record& record) const {
    return (record.inherited ? inherited->dictionary : dictionary).shapes[record.shape];
  }

  std::uint64_t add(const Record& record) { return kLive | records.add(record); }

  Record* find(std::uint64_t address) {
    const std::uint64_t* word = ledger.map().find(address);
    return word && BlockMap::is_live(*word) ? &records[record_of(*word)] : nullptr;
  }

  std::optional<std::uint64_t> heap_block_around(std::uint64_t address) {
    const auto start = block_around(address, [&](std::uint64_t at) -> std::optional<std::uint64_t> {
      const Record* const record = find(at);
      return record ? std::optional(shape(*record).usable_bytes) : std::nullopt;
    });
    return start ? std::optional(find(*start)->id) : std::nullopt;
  }

  void report(const Event& event) {
    Row row{};
    row.address = event.address;
    row.time_ns = clock.ns(event.stamp);
    row.path = trace::NameId{index(event.shape)};
    row.round = round;
    row.thread = event.thread;
    row.on_alloc = event.api;
    if (Record* const record = find(event.address)) {
      row.nth = record->reports.add(round, row.on_alloc);
      const trace::Shape& facts = shape(*record);
      row.block = record->id;
      row.requested = facts.requested_bytes;
      row.usable = facts.usable_bytes;
      if (is_sampled) row.weight = facts.weight;
    } else if (const auto block = pools.block_at(event.address)) {
      row.pool_block = block->id;
      row.requested = row.usable = block->bytes;
      row.nth = pool_reports[block->id].add(round, row.on_alloc);
    } else if (!is_sampled) {
      if (unknown_reports++ == 0) first_unknown = rows.size();
    }
    rows.push_back(row);
  }

  Table reports_table();
  void warn();

  const trace::Dictionary& dictionary;
  bool is_sampled;
  trace::Clock clock;
  const LiveSet* inherited;
  RecordSlots<Record> records;
  std::uint64_t next_id = 0;
  Ledger<State> ledger;
  ProgramPools pools;
  std::uint32_t round = 0;
  std::unordered_map<std::uint64_t, Standing> pool_reports;  // by pool block
  std::vector<Row> rows;
  std::uint64_t unknown_reports = 0;
  std::size_t first_unknown = 0;
  std::vector<std::string> warnings;
};

ProgramReports::ProgramReports(const trace::Dictionary& dictionary, const trace::ProcessInfo& info,
                               std::span<const trace::ClockPair> clock_pairs, const LiveSet* inherited)
    : state_(std::make_unique<State>(dictionary, info, clock_pairs, inherited)) {}

ProgramReports::~ProgramReports() = default;

void ProgramReports::consume(std::span<const Event> events) { state_->ledger.consume(events); }

const std::vector<std::string>& ProgramReports::warnings() const { return state_->warnings; }

Table ProgramReports::State::reports_table() {
  std::vector<std::uint64_t> live;  // ids of blocks, sorted
  ledger.map().for_each_live([&](std::uint64_t, std::uint64_t word) { live.push_back(records[record_of(word)].id); });
  std::sort(live.begin(), live.end());
  const auto stands = [&](const Row& row) {
    if (row.on_alloc == 0 && row.round != round) return false;
    if (row.pool_block) return pools.is_live(*row.pool_block);
    return row.block && std::binary_search(live.begin(), live.end(), *row.block);
  };
  // One word a name, by its id: a million rows say a dozen.
  TableBuilder table("reports");
  const auto path = table.column("path", dictionary.names);
  const auto int_column = [&](const char* name) { return table.column(name, ColumnType::Int64); };
  const auto block_id = int_column("block_id");
  const auto pool_block_id = int_column("pool_block_id");
  const auto address = int_column("address");
  const auto requested = int_column("requested_bytes");
  const auto usable = int_column("usable_bytes");
  const auto weight = table.column("weight", ColumnType::Double);
  const auto time_ns = int_column("time_ns");
  const auto thread = int_column("thread");
  const auto round_number = int_column("round");
  const auto on_alloc = int_column("on_alloc");
  const auto nth = int_column("nth");
  const auto standing = int_column("standing");
  table.reserve(rows.size());
  const auto add_id = [&](TableBuilder::ColumnId column, const std::optional<std::uint64_t>& id) {
    table.add(column, id ? std::optional(to_column(*id)) : std::nullopt);
  };
  for (const Row& row : rows) {
    if (index(row.path) < dictionary.names.size()) {
      table.add_code(path, static_cast<std::int32_t>(index(row.path)));
    } else {
      table.add_null(path);
    }
    const bool is_known = row.block || row.pool_block;
    add_id(block_id, row.block);
    add_id(pool_block_id, row.pool_block);
    table.add(address, to_column(row.address));
    table.add(requested, is_known ? std::optional(to_column(row.requested)) : std::nullopt);
    table.add(usable, is_known ? std::optional(to_column(row.usable)) : std::nullopt);
    table.add(weight, row.weight);
    table.add(time_ns, to_column(row.time_ns));
    table.add(thread, std::int64_t{row.thread});
    table.add(round_number, std::int64_t{row.round});
    table.add(on_alloc, std::int64_t{row.on_alloc});
    table.add(nth, std::int64_t{row.nth});
    table.add(standing, std::int64_t{stands(row)});
  }
  return table.take();
}

void ProgramReports::State::warn() {
  if (unknown_reports != 0) {
    const Row& first = rows[first_unknown];
    char address[24];
    std::snprintf(address, sizeof address, "0x%llx", static_cast<unsigned long long>(first.address));
    const bool is_named = index(first.path) < dictionary.names.size();
    warnings.push_back("the program reported " + std::to_string(unknown_reports) +
                       (unknown_reports == 1 ? " address" : " addresses") + " at which no live block begins, first " +
                       address + (is_named ? " as " + dictionary.names[index(first.path)] : std::string()) +
                       "; they are in table reports, with block_id null");
  }
  if (pools.impossible_events() != 0) {
    warnings.push_back("the program told " + std::to_string(pools.impossible_events()) +
                       " things of its pools that can't be: blocks or memory freed twice, or handed out twice");
  }
}

Tables ProgramReports::finish() {
  Tables tables;
  tables.put(state_->reports_table());
  state_->pools.add_to(tables);
  state_->warn();
  return tables;
}

}  // namespace tare::core
