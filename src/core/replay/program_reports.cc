// What is kept of a live block to know which reports it has, and a row for every report.
#include "core/replay/program_reports.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/replay/claimed.h"
#include "core/replay/dictionary_union.h"
#include "core/replay/ledger.h"
#include "core/replay/program_pools.h"
#include "core/replay/record_slots.h"
#include "core/replay/shape_sums.h"
#include "trace/open_trace.h"
#include "trace/program_note.h"

namespace tare::core {
namespace {

using trace::Event;
using trace::EventKind;
using trace::index;

// The reports of one block that stand.
struct Standing {
  std::size_t last = 0;             // the newest of all, as a row, from 1
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

// What the program said of who holds a block.
enum class Holding : std::uint8_t { Uncounted, One, Several };

struct Record {
  std::uint64_t id;
  std::uint32_t shape;
  bool inherited;
  Standing reports;
  Holding holding = Holding::Uncounted;
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
  trace::StackId stack{};  // of who said it; empty where the recorder didn't tell
  std::size_t before = 0;  // the block's report before this one, as a row, from 1
};

// Blocks that have a report, by its path.
struct Claimed {
  std::uint64_t blocks = 0;
  std::uint64_t requested_bytes = 0;
  std::uint64_t usable_bytes = 0;
};
using ClaimedByPath = std::unordered_map<std::uint32_t, Claimed>;  // by NameId

// What the program believed, and what the blocks that it had reported by then take.
struct AmountRow {
  trace::NameId path;
  std::uint64_t time_ns;
  std::uint32_t round;
  std::uint64_t believed_bytes;
  Claimed claimed;
};

// Blocks whose holders are counted, by shape.
struct HolderSums {
  std::uint64_t blocks = 0;
  std::uint64_t shared = 0;
  std::uint64_t live_blocks = 0;
  std::uint64_t live_shared = 0;
};

// Where a report came from: said just before it, by its thread.
struct Site {
  std::uint64_t address;
  trace::StackId stack;
};

}  // namespace

struct ProgramReports::State {
  State(const trace::Dictionary& own_dictionary, const trace::ProcessInfo& own_info,
        std::span<const trace::ClockPair> clock_pairs, const LiveSet* inherited_set,
        const ClaimedMoment& claimed_moment)
      : dictionary(own_dictionary),
        is_sampled(own_info.sample_bytes != 0),
        allocator(own_info.allocator),
        clock(clock_pairs),
        inherited(inherited_set),
        ledger(*this, own_info),
        pools(own_dictionary),
        moment(claimed_moment) {
    if (!inherited) return;
    stack_of_inherited = unite(dictionary, inherited->dictionary).stack_of;
    for (const LiveSet::Block& block : inherited->blocks) {
      ledger.place(block.address, add({next_id++, index(block.shape), true, {}}));
    }
  }

  // Ledger's view; see there.
  struct Dead {};
  void tick(std::uint64_t stamp) {
    if (!moment.at_ns || claimed || clock.ns(stamp) <= *moment.at_ns) return;
    claimed = claimed_now();
  }
  bool admit(trace::ShapeId shape) const { return index(shape) < dictionary.shapes.size(); }
  std::uint64_t born(const Event& event) { return add({next_id++, index(event.shape), false, {}}); }
  Dead died(std::uint64_t word, const Event&) {
    const Record& record = records[record_of(word)];
    unclaim(record);
    if (record.holding != Holding::Uncounted) {
      HolderSums& sums = holders[record.shape];
      --sums.live_blocks;
      if (record.holding == Holding::Several) --sums.live_shared;
    }
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
    if (event.kind == EventKind::ReportSite) {
      if (admit(event.shape)) sites[event.thread] = {event.address, dictionary.shapes[index(event.shape)].stack};
      return;
    }
    if (event.kind == EventKind::Holders) return hold(event);
    if (event.kind == EventKind::Amount) return believe(event);
    if (event.kind == EventKind::ClearReports) {
      ++round;
      claimed_in_round.clear();
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
    const std::optional<std::uint64_t> start = ledger.map().last_live_until(address);
    if (!start) return std::nullopt;
    const Record& record = *find(*start);
    return shape(record).usable_bytes > address - *start ? std::optional(record.id) : std::nullopt;
  }

  void hold(const Event& event) {
    Record* const record = find(event.address);
    if (!record || record->inherited) return;
    HolderSums& sums = holders[record->shape];
    if (record->holding == Holding::Uncounted) {
      ++sums.blocks;
      ++sums.live_blocks;
      record->holding = Holding::One;
    }
    if (event.api != 0 && record->holding == Holding::One) {
      ++sums.shared;
      ++sums.live_shared;
      record->holding = Holding::Several;
    }
  }

  void believe(const Event& event) {
    AmountRow& row = amounts.emplace_back();
    row.path = trace::NameId{index(event.shape)};
    row.time_ns = clock.ns(event.stamp);
    row.round = round;
    row.believed_bytes = event.address;
    if (index(row.path) >= dictionary.names.size()) return;
    const std::string& above = dictionary.names[index(row.path)];
    for (const ClaimedByPath* claimed_by : {&claimed_in_round, &claimed_on_alloc}) {
      for (const auto& [name, sums] : *claimed_by) {
        const std::string& path = dictionary.names[name];
        const bool is_below = path.starts_with(above) && (path.size() == above.size() || path[above.size()] == '/');
        if (!is_below) continue;
        row.claimed.blocks += sums.blocks;
        row.claimed.requested_bytes += sums.requested_bytes;
        row.claimed.usable_bytes += sums.usable_bytes;
      }
    }
  }

  // Once a block, however many reports it has: of the first that stands.
  void claim(const Row& row) {
    if (index(row.path) >= dictionary.names.size()) return;
    Claimed& sums = (row.on_alloc != 0 ? claimed_on_alloc : claimed_in_round)[index(row.path)];
    ++sums.blocks;
    sums.requested_bytes += row.requested;
    sums.usable_bytes += row.usable;
  }

  void unclaim(const Record& record) {
    const Row* first = nullptr;
    for (std::size_t at = record.reports.last; at != 0; at = rows[at - 1].before) {
      if (rows[at - 1].on_alloc != 0 || rows[at - 1].round == round) first = &rows[at - 1];
    }
    if (first == nullptr) return;
    ClaimedByPath& claimed_by = first->on_alloc != 0 ? claimed_on_alloc : claimed_in_round;
    const auto sums = claimed_by.find(index(first->path));
    if (sums == claimed_by.end() || sums->second.blocks == 0) return;
    --sums->second.blocks;
    sums->second.requested_bytes -= std::min(sums->second.requested_bytes, first->requested);
    sums->second.usable_bytes -= std::min(sums->second.usable_bytes, first->usable);
  }

  void report(const Event& event) {
    Row row{};
    row.address = event.address;
    row.time_ns = clock.ns(event.stamp);
    row.path = trace::NameId{index(event.shape)};
    row.round = round;
    row.thread = event.thread;
    row.on_alloc = event.api;
    if (const auto site = sites.find(event.thread); site != sites.end() && site->second.address == event.address) {
      row.stack = site->second.stack;
    }
    Record* const record = find(event.address);
    const auto pool_block = pools.block_at(event.address);
    // Where a pool's block begins with the block that its memory lies in, the first report is of the latter.
    const bool is_of_pool = pool_block && (!record || stands_now(record->reports));
    if (record && !is_of_pool) {
      const bool is_first = !stands_now(record->reports);
      row.nth = record->reports.add(round, row.on_alloc);
      row.before = std::exchange(record->reports.last, rows.size() + 1);
      const trace::Shape& facts = shape(*record);
      row.block = record->id;
      row.requested = facts.requested_bytes;
      row.usable = facts.usable_bytes;
      if (is_first) claim(row);
      if (is_sampled) row.weight = facts.weight;
    } else if (pool_block) {
      row.pool_block = pool_block->id;
      row.requested = row.usable = pool_block->bytes;
      Standing& standing = pool_reports[pool_block->id];
      row.nth = standing.add(round, row.on_alloc);
      row.before = std::exchange(standing.last, rows.size() + 1);
    } else if (!is_sampled) {
      if (unknown_reports++ == 0) first_unknown = rows.size();
    }
    rows.push_back(row);
    if (moment.reports && rows.size() == *moment.reports) claimed = claimed_now();
  }

  bool stands_now(const Standing& reports) const {
    return reports.from_on_alloc != 0 || (reports.round == round && reports.in_round != 0);
  }
  Claims claims_of(const Standing& standing) const;
  ClaimedBlocks claimed_now() const;
  Table reports_table();
  Table amounts_table() const;
  Table holders_table() const;
  void warn();

  const trace::Dictionary& dictionary;
  bool is_sampled;
  trace::AllocatorKind allocator;
  trace::Clock clock;
  const LiveSet* inherited;
  RecordSlots<Record> records;
  std::uint64_t next_id = 0;
  Ledger<State> ledger;
  ProgramPools pools;
  std::vector<trace::StackId> stack_of_inherited;
  ClaimedMoment moment;
  std::optional<ClaimedBlocks> claimed;
  std::unordered_map<std::uint16_t, Site> sites;  // by thread
  std::uint32_t round = 0;
  std::unordered_map<std::uint64_t, Standing> pool_reports;  // by pool block
  std::vector<Row> rows;
  ClaimedByPath claimed_in_round;  // of malloc's blocks, as those below
  ClaimedByPath claimed_on_alloc;
  std::vector<AmountRow> amounts;
  std::map<std::uint32_t, HolderSums> holders;  // by shape
  std::uint64_t unknown_reports = 0;
  std::size_t first_unknown = 0;
  std::vector<std::string> warnings;
};

ProgramReports::ProgramReports(const trace::Dictionary& dictionary, const trace::ProcessInfo& info,
                               std::span<const trace::ClockPair> clock_pairs, const LiveSet* inherited,
                               const ClaimedMoment& moment)
    : state_(std::make_unique<State>(dictionary, info, clock_pairs, inherited, moment)) {}

ProgramReports::~ProgramReports() = default;

void ProgramReports::consume(std::span<const Event> events) { state_->ledger.consume(events); }

const std::vector<std::string>& ProgramReports::warnings() const { return state_->warnings; }

// Of the reports of a block those that stand now.
Claims ProgramReports::State::claims_of(const Standing& standing) const {
  Claims claims;
  for (std::size_t at = standing.last; at != 0; at = rows[at - 1].before) {
    const Row& row = rows[at - 1];
    if (row.on_alloc == 0 && row.round != round) {
      if (claims.formerly == Claim::kNone) claims.formerly = index(row.path);
      continue;
    }
    ++claims.reports;
    claims.again = claims.first;
    claims.first = {index(row.path), index(row.stack)};
  }
  if (claims.reports != 0) claims.formerly = Claim::kNone;
  return claims;
}

ClaimedBlocks ProgramReports::State::claimed_now() const {
  ClaimedBlocks blocks;
  // Pools first: what of malloc's blocks is their memory, and what of that no block takes.
  std::unordered_map<std::uint64_t, std::uint64_t> told;  // by block of malloc: bytes that are pools'
  struct Rest {
    std::uint64_t memory_bytes = 0;
    std::uint64_t used_bytes = 0;
    std::optional<std::size_t> memory;  // the first piece
    Claims claims;
  };
  std::map<std::size_t, Rest> rests;                        // by pool
  std::vector<std::pair<ClaimedKey, std::uint64_t>> hosts;  // blocks of malloc that are pools' memory
  std::unordered_map<std::uint64_t, std::size_t> pool_in;   // by such a block
  for (std::size_t id = 0; id < pools.memory().size(); ++id) {
    const ProgramPools::Span& memory = pools.memory()[id];
    if (memory.death_ns) continue;
    if (memory.heap_block) {
      told[*memory.heap_block] += memory.bytes;
      pool_in[*memory.heap_block] = memory.pool;
    }
    Rest& rest = rests[memory.pool];
    rest.memory_bytes += memory.bytes;
    if (!rest.memory) rest.memory = id;
  }
  std::unordered_map<std::uint64_t, Claims> claims_of_hosts;
  ledger.map().for_each_live([&](std::uint64_t, std::uint64_t word) {
    const Record& record = records[record_of(word)];
    const trace::Shape& facts = shape(record);
    ClaimedKey key{index(record.inherited ? stack_of_inherited[index(facts.stack)] : facts.stack),
                   ClaimedKind::Malloc,
                   facts.requested_bytes,
                   facts.usable_bytes,
                   header_bytes(allocator, facts.usable_bytes),
                   is_sampled ? facts.weight : 1,
                   claims_of(record.reports)};
    if (const auto host = told.find(record.id); host != told.end()) {
      claims_of_hosts[record.id] = key.claims;
      hosts.push_back({key, record.id});
      return;
    }
    ++blocks[key];
  });
  const auto claims_around = [&](std::optional<std::size_t> memory) {
    const auto host = memory && pools.memory()[*memory].heap_block
                          ? claims_of_hosts.find(*pools.memory()[*memory].heap_block)
                          : claims_of_hosts.end();
    if (host == claims_of_hosts.end() || host->second.reports == 0) return Claims{};
    return Claims{1, host->second.first, {}, Claim::kNone};
  };
  for (std::size_t id = 0; id < pools.blocks().size(); ++id) {
    const ProgramPools::Span& block = pools.blocks()[id];
    if (block.death_ns) continue;
    const auto reported = pool_reports.find(id);
    Claims claims = reported == pool_reports.end() ? Claims{} : claims_of(reported->second);
    // Who reports the memory that a pool's blocks lie in means them too.
    if (claims.reports == 0 && block.memory) claims = claims_around(block.memory);
    ++blocks[{index(block.stack), ClaimedKind::PoolBlock, block.bytes, block.bytes, 0, 1, claims}];
    Rest& rest = rests[block.pool];
    if (block.memory) rest.used_bytes += block.bytes;
    if (rest.claims.reports == 0 && claims.reports != 0) rest.claims = {1, claims.first, {}, Claim::kNone};
  }
  // What a pool holds beside its blocks, and what it left of the block that its memory lies in, is of who claims these.
  for (auto& [key, id] : hosts) {
    key.usable_bytes -= std::min(key.usable_bytes, told[id]);
    key.requested_bytes -= std::min(key.requested_bytes, told[id]);
    if (key.claims.reports == 0) key.claims = rests[pool_in[id]].claims;
    ++blocks[key];
  }
  for (const auto& [pool, rest] : rests) {
    if (!rest.memory || rest.memory_bytes <= rest.used_bytes) continue;
    const Claims claims = rest.claims.reports != 0 ? rest.claims : claims_around(rest.memory);
    ++blocks[{index(pools.memory()[*rest.memory].stack), ClaimedKind::PoolMemory, 0,
              rest.memory_bytes - rest.used_bytes, 0, 1, claims}];
  }
  return blocks;
}

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
  const auto stack = int_column("stack_id");
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
    table.add(stack, row.stack == trace::kEmptyStack ? std::nullopt : std::optional(std::int64_t{index(row.stack)}));
    table.add(round_number, std::int64_t{row.round});
    table.add(on_alloc, std::int64_t{row.on_alloc});
    table.add(nth, std::int64_t{row.nth});
    table.add(standing, std::int64_t{stands(row)});
  }
  return table.take();
}

Table ProgramReports::State::amounts_table() const {
  TableBuilder table("amounts");
  const auto path = table.column("path", dictionary.names);
  const auto int_column = [&](const char* name) { return table.column(name, ColumnType::Int64); };
  const auto time_ns = int_column("time_ns");
  const auto round_number = int_column("round");
  const auto believed = int_column("believed_bytes");
  const auto blocks = int_column("blocks");
  const auto requested = int_column("requested_bytes");
  const auto usable = int_column("usable_bytes");
  for (const AmountRow& row : amounts) {
    if (index(row.path) < dictionary.names.size()) {
      table.add_code(path, static_cast<std::int32_t>(index(row.path)));
    } else {
      table.add_null(path);
    }
    table.add(time_ns, to_column(row.time_ns));
    table.add(round_number, std::int64_t{row.round});
    table.add(believed, to_column(row.believed_bytes));
    table.add(blocks, to_column(row.claimed.blocks));
    table.add(requested, to_column(row.claimed.requested_bytes));
    table.add(usable, to_column(row.claimed.usable_bytes));
  }
  return table.take();
}

Table ProgramReports::State::holders_table() const {
  TableBuilder table("holders");
  const auto int_column = [&](const char* name) { return table.column(name, ColumnType::Int64); };
  const auto shape_id = int_column("shape_id");
  const auto stack_id = int_column("stack_id");
  const auto requested = int_column("requested_bytes");
  const auto weight = table.column("weight", ColumnType::Double);
  const auto blocks = int_column("blocks");
  const auto shared = int_column("shared_blocks");
  const auto end_blocks = int_column("end_blocks");
  const auto end_shared = int_column("end_shared_blocks");
  for (const auto& [shape, sums] : holders) {
    const trace::Shape& facts = dictionary.shapes[shape];
    table.add(shape_id, std::int64_t{shape});
    table.add(stack_id, std::int64_t{index(facts.stack)});
    table.add(requested, to_column(facts.requested_bytes));
    table.add(weight, is_sampled ? facts.weight : 1.0);
    table.add(blocks, to_column(sums.blocks));
    table.add(shared, to_column(sums.shared));
    table.add(end_blocks, to_column(sums.live_blocks));
    table.add(end_shared, to_column(sums.live_shared));
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
  tables.put(state_->amounts_table());
  tables.put(state_->holders_table());
  if (!state_->claimed) state_->claimed = state_->claimed_now();
  tables.put(claimed_table(*state_->claimed, state_->dictionary));
  state_->pools.add_to(tables);
  state_->warn();
  return tables;
}

}  // namespace tare::core
