// A pass over the trace: live blocks and their reports.
#include "core/heavy_tables/program_reports.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/analysis/dictionary_union.h"
#include "core/analysis/ledger.h"
#include "core/analysis/record_slots.h"
#include "core/analysis/shape_sums.h"
#include "core/heavy_tables/amounts.h"
#include "core/heavy_tables/claimed.h"
#include "core/heavy_tables/program_pools.h"
#include "core/heavy_tables/report_rows.h"
#include "core/heavy_tables/sharing.h"
#include "trace/open/open_trace.h"
#include "trace/spool/program_note.h"

namespace tare::core {
namespace {

using trace::Event;
using trace::EventKind;
using trace::index;

struct ReportedBlock {
  std::uint64_t id;
  std::uint32_t shape;
  bool inherited;
  BlockReports reports;
  Holding holding = Holding::Uncounted;
};

// The stack of a report, from the note just before it in its thread.
struct Site {
  std::uint64_t address;
  trace::StackId stack;
};

}  // namespace

struct ProgramReports::State : BooksWithoutGrowth {
  State(const trace::Dictionary& own_dictionary, const trace::ProcessInfo& own_info,
        std::span<const trace::ClockPair> clock_pairs, const LiveSet* inherited_set, const ClaimedTime& claimed_time)
      : dictionary(own_dictionary),
        is_sampled(own_info.sample_bytes != 0),
        allocator(own_info.allocator),
        clock(clock_pairs),
        inherited(inherited_set),
        ledger(*this, own_info),
        pools(own_dictionary),
        moment(claimed_time),
        amounts(own_dictionary) {
    if (inherited || own_info.fork || own_info.asleep_ns) pools.adopt_earlier();
    if (!inherited) return;
    stack_of_inherited = unite(dictionary, inherited->dictionary).stack_of;
    for (const LiveSet::Block& block : inherited->blocks) {
      ledger.place(block.address, add({next_id++, index(block.shape), true, {}}));
    }
  }

  // LedgerBooks:
  void tick(std::uint64_t stamp) {
    if (!moment.at_ns || claimed || clock.ns(stamp) <= *moment.at_ns) return;
    claimed = claimed_now();
  }
  bool admit(trace::ShapeId shape) const { return index(shape) < dictionary.shapes.size(); }
  std::uint64_t born(const Event& event) { return add({next_id++, index(event.shape), false, {}}); }
  Dead died(std::uint64_t word, const Event&) {
    const ReportedBlock& record = records[record_of(word)];
    if (const ReportRow* first = rows.first_standing(record.reports)) amounts.unclaim(*first);
    sharing.ended(record.shape, record.holding);
    records.free(record_of(word));
    return {};
  }
  void other(const Event& event) {
    if (event.kind == EventKind::Report) return report(event);
    if (event.kind == EventKind::ReportSite) {
      if (admit(event.shape)) sites[event.thread] = {event.address, dictionary.shapes[index(event.shape)].stack};
      return;
    }
    if (event.kind == EventKind::Holders) return hold(event);
    if (event.kind == EventKind::Amount) {
      return amounts.set_amount(trace::NameId{index(event.shape)}, event.address, clock.ns(event.stamp), rows.round());
    }
    if (event.kind == EventKind::ClearReports) {
      rows.clear_round();
      amounts.clear_round();
    } else if (PoolLedger<ProgramPools>::is_pool_event(event.kind)) {
      const bool is_memory = event.kind == EventKind::PoolGrow;
      pools.consume(event, clock.ns(event.stamp),
                    is_memory ? heap_block_around(trace::pool_address(event.address)) : std::nullopt);
    }
  }

  static constexpr std::uint32_t kLive = 1u << 31;
  static std::uint32_t record_of(std::uint64_t word) { return static_cast<std::uint32_t>(word) & ~kLive; }

  const trace::Shape& shape(const ReportedBlock& record) const {
    return (record.inherited ? inherited->dictionary : dictionary).shapes[record.shape];
  }

  std::uint64_t add(const ReportedBlock& record) { return kLive | records.add(record); }

  ReportedBlock* find(std::uint64_t address) {
    const std::uint64_t* word = ledger.map().find(address);
    return word && BlockMap::is_live(*word) ? &records[record_of(*word)] : nullptr;
  }

  std::optional<std::uint64_t> heap_block_around(std::uint64_t address) {
    const std::optional<std::uint64_t> start = ledger.map().last_live_until(address);
    if (!start) return std::nullopt;
    const ReportedBlock& record = *find(*start);
    return shape(record).usable_bytes > address - *start ? std::optional(record.id) : std::nullopt;
  }

  void hold(const Event& event) {
    ReportedBlock* const record = find(event.address);
    if (record && !record->inherited) sharing.set_holders(record->shape, event.api != 0, record->holding);
  }

  void report(const Event& event) {
    ReportRow row{};
    row.address = event.address;
    row.time_ns = clock.ns(event.stamp);
    row.path = trace::NameId{index(event.shape)};
    row.round = rows.round();
    row.thread = event.thread;
    row.on_alloc = event.api;
    if (const auto site = sites.find(event.thread); site != sites.end() && site->second.address == event.address) {
      row.stack = site->second.stack;
    }
    ReportedBlock* const record = find(event.address);
    const auto pool_block = pools.block_at(event.address);
    // Where a pool's block begins with the block that its memory lies in, the first report is of the latter.
    const bool is_of_pool = pool_block && (!record || rows.any_stands(record->reports));
    if (record && !is_of_pool) {
      const bool is_first = !rows.any_stands(record->reports);
      rows.link(row, record->reports);
      const trace::Shape& facts = shape(*record);
      row.block = record->id;
      row.requested = facts.requested_bytes;
      row.usable = facts.usable_bytes;
      if (is_first) amounts.claim(row);
      if (is_sampled) row.weight = facts.weight;
    } else if (pool_block) {
      row.pool_block = pool_block->id;
      row.requested = row.usable = pool_block->bytes;
      rows.link(row, pool_reports[pool_block->id]);
    } else if (!is_sampled) {
      if (unknown_reports++ == 0) first_unknown = rows.size();
    }
    rows.add(row);
    if (moment.reports && rows.size() == *moment.reports) claimed = claimed_now();
  }

  ClaimedBlocks claimed_now() const;
  Table reports_table();
  void warn();

  const trace::Dictionary& dictionary;
  bool is_sampled;
  trace::AllocatorKind allocator;
  trace::Clock clock;
  const LiveSet* inherited;
  RecordSlots<ReportedBlock> records;
  std::uint64_t next_id = 0;
  Ledger<State> ledger;
  ProgramPools pools;
  std::vector<trace::StackId> stack_of_inherited;
  ClaimedTime moment;
  std::optional<ClaimedBlocks> claimed;
  std::unordered_map<std::uint16_t, Site> sites;  // by thread
  ReportRows rows;
  std::unordered_map<std::uint64_t, BlockReports> pool_reports;  // by pool block
  Amounts amounts;
  Sharing sharing;
  std::uint64_t unknown_reports = 0;
  std::size_t first_unknown = 0;
  std::vector<std::string> warnings;
};

ProgramReports::ProgramReports(const trace::Dictionary& dictionary, const trace::ProcessInfo& info,
                               std::span<const trace::ClockPair> clock_pairs, const LiveSet* inherited,
                               const ClaimedTime& moment)
    : state_(std::make_unique<State>(dictionary, info, clock_pairs, inherited, moment)) {}

ProgramReports::~ProgramReports() = default;

void ProgramReports::consume(std::span<const Event> events) { state_->ledger.consume(events); }

const std::vector<std::string>& ProgramReports::warnings() const { return state_->warnings; }

ClaimedBlocks ProgramReports::State::claimed_now() const {
  ClaimedBlocks blocks;
  // Pools first: the parts of malloc's blocks that are pool memory, and the parts of these that no block uses.
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
    const ReportedBlock& record = records[record_of(word)];
    const trace::Shape& facts = shape(record);
    ClaimedKey key{index(record.inherited ? stack_of_inherited[index(facts.stack)] : facts.stack),
                   ClaimedKind::Malloc,
                   facts.requested_bytes,
                   facts.usable_bytes,
                   header_bytes(allocator, facts),
                   is_sampled ? facts.weight : 1,
                   rows.claims_of(record.reports)};
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
    Claims claims = reported == pool_reports.end() ? Claims{} : rows.claims_of(reported->second);
    // A report of a pool's memory includes the pool's blocks.
    if (claims.reports == 0 && block.memory) claims = claims_around(block.memory);
    ++blocks[{index(block.stack), ClaimedKind::PoolBlock, block.bytes, block.bytes, 0, 1, claims}];
    Rest& rest = rests[block.pool];
    if (block.memory) rest.used_bytes += block.bytes;
    if (rest.claims.reports == 0 && claims.reports != 0) rest.claims = {1, claims.first, {}, Claim::kNone};
  }
  // A pool's unused memory, and the remainder of the block that contains it, belong to the reporter of these.
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
  return rows.table(dictionary, [&](const ReportRow& row) {
    if (row.pool_block) return pools.is_live(*row.pool_block);
    return row.block && std::binary_search(live.begin(), live.end(), *row.block);
  });
}

void ProgramReports::State::warn() {
  if (unknown_reports != 0) {
    const ReportRow& first = rows[first_unknown];
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
  tables.put(state_->amounts.table());
  tables.put(state_->sharing.table(state_->dictionary, state_->is_sampled));
  if (!state_->claimed) state_->claimed = state_->claimed_now();
  tables.put(claimed_table(*state_->claimed, state_->dictionary));
  state_->pools.add_to(tables);
  state_->warn();
  return tables;
}

}  // namespace tare::core
