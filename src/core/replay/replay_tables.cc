// Tables `process`, `site_sizes`, `chains` and `timeline` from what the engine has summed up.
#include "core/replay/replay_tables.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "core/replay/dictionary_union.h"
#include "core/replay/pool_rows.h"
#include "trace/open_trace.h"

namespace tare::core {
namespace {

using trace::index;

std::int64_t rounded(double value) {
  constexpr double kMost = 9.2e18;
  return value < kMost ? std::llround(value) : std::numeric_limits<std::int64_t>::max();
}

std::int64_t whole(std::uint64_t value) { return to_column(value); }
std::int64_t from_q(std::uint64_t value_q) { return static_cast<std::int64_t>(value_q >> kFractionBits); }

// Blocks, requested, usable and gross bytes of one mode (peak, end, total), exact unless sampled.
class ModeSums {
 public:
  void add(std::uint64_t blocks, std::uint64_t requested_bytes, std::uint64_t usable_bytes, std::uint64_t header,
           double weight) {
    if (blocks == 0) return;
    if (weight == 1.0) {
      const unsigned __int128 count = blocks;
      blocks_ += count;
      requested_ += count * requested_bytes;
      usable_ += count * usable_bytes;
      gross_ += count * (usable_bytes + header);
    } else {
      const double count = weight * static_cast<double>(blocks);
      const auto usable = static_cast<double>(usable_bytes);
      weighted_blocks_ += count;
      weighted_requested_ += count * static_cast<double>(requested_bytes);
      weighted_usable_ += count * usable;
      weighted_gross_ += count * (usable + static_cast<double>(header));
    }
  }
  std::int64_t blocks() const { return sum(blocks_, weighted_blocks_); }
  std::int64_t requested_bytes() const { return sum(requested_, weighted_requested_); }
  std::int64_t usable_bytes() const { return sum(usable_, weighted_usable_); }
  std::int64_t gross_bytes() const { return sum(gross_, weighted_gross_); }

 private:
  static std::int64_t sum(unsigned __int128 exact, double weighted) {
    return weighted == 0 ? to_column(exact) : rounded(static_cast<double>(exact) + weighted);
  }
  unsigned __int128 blocks_ = 0, requested_ = 0, usable_ = 0, gross_ = 0;
  double weighted_blocks_ = 0, weighted_requested_ = 0, weighted_usable_ = 0, weighted_gross_ = 0;
};

struct Totals {
  ModeSums peak, end, total, at, inherited;
  bool has_at = false;
};

// One tick is so many nanoseconds, on average over the recording.
double ns_per_tick(const ReplayEngine& engine, const trace::Clock& clock) {
  const std::uint64_t ticks = engine.last_stamp() - engine.first_stamp();
  if (engine.last_stamp() <= engine.first_stamp()) return 0;
  return static_cast<double>(clock.ns(engine.last_stamp()) - clock.ns(engine.first_stamp())) /
         static_cast<double>(ticks);
}

class SiteSizes {
 public:
  SiteSizes(const ReplayEngine& engine, const trace::ProcessInfo& info, double ns_per_tick, Totals& totals)
      : engine_(engine),
        info_(info),
        ns_per_age_(ns_per_tick * (1 << kAgeShift)),
        end_age_((engine.last_stamp() - engine.first_stamp()) >> kAgeShift),
        totals_(totals) {}

  void add_recorded(const trace::Dictionary& dictionary) {
    const auto& group = engine_.recorded();
    for (std::uint32_t shape = 0; shape < group.sums.size(); ++shape) {
      std::uint64_t ended[kAgeClasses];
      std::uint64_t total = group.sums[shape].live;
      for (std::size_t age = 0; age < kAgeClasses; ++age) total += ended[age] = engine_.ended(shape, age);
      if (total == 0) continue;
      const PoolBooks::Sums* taken = engine_.pools() ? sums_of(engine_.pools()->recorded(), shape) : nullptr;
      Row row = heap_row(group, shape, dictionary.shapes[shape], total);
      row.id = shape;
      std::copy(std::begin(ended), std::end(ended), row.ended);
      row.age_sum = group.sums[shape].age_sum + group.sums[shape].live * end_age_;
      add(row, taken);
    }
  }

  // Shapes of the parent's dictionary get ids after the last of the child's own.
  void add_inherited(const trace::Dictionary& dictionary, const std::vector<trace::StackId>& stack_of,
                     std::size_t first_id) {
    const auto& group = engine_.inherited();
    for (std::uint32_t shape = 0; shape < group.sums.size(); ++shape) {
      const trace::Shape& facts = dictionary.shapes[shape];
      Row row = heap_row(group, shape, facts, 0);
      row.id = first_id + shape;
      row.stack = stack_of[index(facts.stack)];
      row.inherited = 1;
      add(row, engine_.pools() ? sums_of(engine_.pools()->inherited(), shape) : nullptr);
    }
    next_id_ = first_id + group.sums.size();
  }

  // After the others: pools' blocks, what pools hold beside them, and what is left of the blocks that their memory lies
  // in.
  void add_pools(const trace::Dictionary& dictionary) {
    if (engine_.pools()) {
      const auto& pools = engine_.pools()->recorded();
      std::vector<std::uint32_t> shapes;
      for (const auto& [shape, sums] : pools) {
        if (sums.live[index_of(PoolBooks::Moment::Total)] != 0) shapes.push_back(shape);
      }
      std::sort(shapes.begin(), shapes.end());
      for (const std::uint32_t shape : shapes) {
        const PoolBooks::Sums& sums = pools.at(shape);
        const trace::Shape& facts = dictionary.shapes[shape];
        Row row;
        row.id = shape;
        row.stack = facts.stack;
        row.api = sums.is_memory ? kPoolMemoryWord : kPoolBlockWord;
        row.requested_bytes = sums.is_memory ? 0 : facts.requested_bytes;
        row.usable_bytes = facts.requested_bytes;
        std::copy(std::begin(sums.live), std::end(sums.live), row.blocks.begin());
        std::copy(std::begin(sums.ended), std::end(sums.ended), row.ended);
        row.age_sum = sums.age_sum;
        add(row, &sums);
      }
    }
    for (Row& row : remainders_) {
      row.id = next_id_++;
      put(row, 0);
    }
  }

  Table take() { return table_.take(); }

 private:
  struct Row {
    std::size_t id = 0;
    trace::StackId stack{};
    std::int32_t api = 0;
    std::uint8_t align_log2 = 0;
    std::uint64_t requested_bytes = 0;
    std::uint64_t usable_bytes = 0;
    std::uint64_t header_bytes = 0;
    double weight = 1;
    MomentBlocks blocks{};
    std::int64_t inherited = 0;
    std::uint64_t ended[kAgeClasses] = {};
    std::uint64_t age_sum = 0;
  };

  static constexpr std::size_t index_of(PoolBooks::Moment moment) { return static_cast<std::size_t>(moment); }

  static const PoolBooks::Sums* sums_of(const PoolBooks::ByShape& pools, std::uint32_t shape) {
    const auto found = pools.find(shape);
    return found == pools.end() ? nullptr : &found->second;
  }

  Row heap_row(const ReplayEngine::Group& group, std::uint32_t shape, const trace::Shape& facts,
               std::uint64_t total) const {
    using enum PoolBooks::Moment;
    Row row;
    row.stack = facts.stack;
    row.api = static_cast<std::int32_t>(facts.api) & 31;
    row.align_log2 = facts.align_log2;
    row.requested_bytes = facts.requested_bytes;
    row.usable_bytes = facts.usable_bytes;
    row.header_bytes = header_bytes(info_.allocator, facts.usable_bytes);
    row.weight = info_.sample_bytes != 0 ? facts.weight : 1.0;
    row.blocks[index_of(Peak)] = group.live_at_peak[shape];
    row.blocks[index_of(End)] = group.sums[shape].live;
    row.blocks[index_of(Total)] = total;
    row.blocks[index_of(At)] = shape < group.live_at.size() ? group.live_at[shape] : 0;
    return row;
  }

  // Blocks of which a part is counted elsewhere get rows of their own, later.
  void add(Row row, const PoolBooks::Sums* partly) {
    double elsewhere = 0;
    if (partly) {
      for (Remainder& left : remainders(partly->taken, row.requested_bytes, row.usable_bytes)) {
        if (row.inherited) left.blocks[index_of(PoolBooks::Moment::Total)] = 0;
        Row rest = row;
        rest.api = kPoolMemoryWord;
        rest.requested_bytes = left.requested_bytes;
        rest.usable_bytes = left.usable_bytes;
        rest.blocks = left.blocks;
        std::fill(std::begin(rest.ended), std::end(rest.ended), 0);
        rest.age_sum = 0;
        for (std::size_t moment = 0; moment < PoolBooks::kMoments; ++moment) {
          row.blocks[moment] -= std::min(row.blocks[moment], left.blocks[moment]);
        }
        remainders_.push_back(rest);
      }
      elsewhere = static_cast<double>(partly->taken_byte_ages) * ns_per_age_;
    }
    put(row, elsewhere);
  }

  void put(const Row& row, double byte_ns_elsewhere) {
    using enum PoolBooks::Moment;
    const auto blocks = [&](PoolBooks::Moment moment) { return row.blocks[index_of(moment)]; };
    table_.add(shape_id_, static_cast<std::int64_t>(row.id));
    table_.add(stack_id_, std::int64_t{index(row.stack)});
    table_.add_code(api_, row.api);
    table_.add(align_bytes_, row.align_log2 == 0 ? std::int64_t{0} : std::int64_t{1} << (row.align_log2 & 63));
    table_.add(requested_bytes_, whole(row.requested_bytes));
    table_.add(usable_bytes_, whole(row.usable_bytes));
    table_.add(header_bytes_, whole(row.header_bytes));
    table_.add(weight_, row.weight);
    table_.add(total_blocks_, whole(blocks(Total)));
    table_.add(peak_blocks_, whole(blocks(Peak)));
    table_.add(end_blocks_, whole(blocks(End)));
    if (totals_.has_at) {
      table_.add(at_blocks_, whole(blocks(At)));
    } else {
      table_.add_null(at_blocks_);
    }
    table_.add(inherited_, row.inherited);
    for (std::size_t age = 0; age < kAgeClasses; ++age) table_.add(freed_[age], whole(row.ended[age]));
    const double lifetime = static_cast<double>(row.age_sum) * ns_per_age_;
    const auto gross = static_cast<double>(row.usable_bytes + row.header_bytes);
    table_.add(lifetime_ns_, lifetime);
    table_.add(byte_ns_, std::max(lifetime * gross - byte_ns_elsewhere, 0.0));
    const std::pair<ModeSums&, PoolBooks::Moment> sums[] = {
        {totals_.peak, Peak}, {totals_.end, End}, {totals_.total, Total}, {totals_.at, At}};
    for (const auto& [sum, moment] : sums) {
      sum.add(blocks(moment), row.requested_bytes, row.usable_bytes, row.header_bytes, row.weight);
    }
  }

  const ReplayEngine& engine_;
  const trace::ProcessInfo& info_;
  double ns_per_age_;
  std::uint64_t end_age_;
  Totals& totals_;
  std::vector<Row> remainders_;
  std::size_t next_id_ = 0;
  TableBuilder table_{"site_sizes"};
  using Id = TableBuilder::ColumnId;
  Id shape_id_ = table_.column("shape_id", ColumnType::Int64);
  Id stack_id_ = table_.column("stack_id", ColumnType::Int64);
  Id api_ = table_.column("api", api_words());
  Id align_bytes_ = table_.column("align_bytes", ColumnType::Int64);  // asked for; 0: none
  Id requested_bytes_ = table_.column("requested_bytes", ColumnType::Int64);
  Id usable_bytes_ = table_.column("usable_bytes", ColumnType::Int64);
  Id header_bytes_ = table_.column("header_bytes", ColumnType::Int64);
  Id weight_ = table_.column("weight", ColumnType::Double);
  Id total_blocks_ = table_.column("total_blocks", ColumnType::Int64);  // this and what follows: of recorded blocks
  Id peak_blocks_ = table_.column("peak_blocks", ColumnType::Int64);
  Id end_blocks_ = table_.column("end_blocks", ColumnType::Int64);
  Id at_blocks_ = table_.column("at_blocks", ColumnType::Int64);  // null unless a time was asked for
  Id inherited_ = table_.column("inherited", ColumnType::Int64);  // 1: the parent's at fork; in peak and end only
  Id freed_[kAgeClasses] = {
      table_.column("freed_within_16", ColumnType::Int64), table_.column("freed_within_64", ColumnType::Int64),
      table_.column("freed_within_256", ColumnType::Int64), table_.column("freed_within_65536", ColumnType::Int64),
      table_.column("freed_later", ColumnType::Int64)};
  Id lifetime_ns_ = table_.column("lifetime_ns", ColumnType::Double);  // sum; blocks never freed live to the end
  Id byte_ns_ = table_.column("byte_ns", ColumnType::Double);          // sum of gross x lifetime
};

Table chains_table(const ReplayEngine& engine) {
  TableBuilder table("chains");
  const auto stack_id = table.column("stack_id", ColumnType::Int64);
  const auto kind = table.column("kind", ColumnType::String);
  const auto max_requested_bytes = table.column("max_requested_bytes", ColumnType::Int64);
  struct Sum {
    TableBuilder::ColumnId id;
    double ChainRow::* member;
  };
  const Sum sums[] = {
      {table.column("chains", ColumnType::Double), &ChainRow::chains},
      {table.column("steps", ColumnType::Double), &ChainRow::steps},
      {table.column("slow_steps", ColumnType::Double), &ChainRow::slow_steps},
      {table.column("in_place_steps", ColumnType::Double), &ChainRow::in_place_steps},
      {table.column("copied_bytes", ColumnType::Double), &ChainRow::copied_bytes},
      {table.column("doubling_copied_bytes", ColumnType::Double), &ChainRow::doubling_copied_bytes},
      {table.column("requested_bytes", ColumnType::Double), &ChainRow::requested_bytes},
      {table.column("rounded_4k_bytes", ColumnType::Double), &ChainRow::rounded_4k_bytes},
      {table.column("doubling_bytes", ColumnType::Double), &ChainRow::doubling_bytes},
      {table.column("peak_blocks", ColumnType::Double), &ChainRow::live_at_peak},
  };
  for (const ChainRow& row : engine.chains().rows()) {
    table.add(stack_id, std::int64_t{index(row.stack)});
    table.add(kind, std::string_view(row.kind == GrowthKind::Realloc ? "realloc" : "malloc-copy-free"));
    table.add(max_requested_bytes, whole(row.max_requested_bytes));
    for (const Sum& sum : sums) table.add(sum.id, row.*sum.member);
  }
  return table.take();
}

Table timeline_table(const ReplayEngine& engine, const trace::Clock& clock) {
  TableBuilder table("timeline");
  const auto time_ns = table.column("time_ns", ColumnType::Int64);
  const auto requested_bytes = table.column("requested_bytes", ColumnType::Int64);
  const auto usable_bytes = table.column("usable_bytes", ColumnType::Int64);
  const auto gross_bytes = table.column("gross_bytes", ColumnType::Int64);
  const auto max_gross_bytes = table.column("max_gross_bytes", ColumnType::Int64);  // since the row before
  const auto blocks = table.column("blocks", ColumnType::Int64);
  const auto alloc_events = table.column("alloc_events", ColumnType::Int64);  // since the row before, reallocs in both
  const auto free_events = table.column("free_events", ColumnType::Int64);
  const auto mapped_bytes = table.column("mapped_bytes", ColumnType::Int64);
  std::uint64_t allocs = 0;
  std::uint64_t frees = 0;
  for (const TimelineRow& row : engine.timeline().rows()) {
    table.add(time_ns, whole(clock.ns(row.last_stamp)));
    table.add(requested_bytes, from_q(row.requested_q));
    table.add(usable_bytes, from_q(row.usable_q));
    table.add(gross_bytes, from_q(row.gross_q));
    table.add(max_gross_bytes, from_q(row.max_gross_q));
    table.add(blocks, from_q(row.blocks_q));
    table.add(alloc_events, whole(row.alloc_events - allocs));
    table.add(free_events, whole(row.free_events - frees));
    table.add(mapped_bytes, whole(row.mapped_bytes));
    allocs = row.alloc_events;
    frees = row.free_events;
  }
  return table.take();
}

// Programs write a title over their arguments ("redis-server *:6379", of some length) and zeros behind it, which look
// like empty ones.
std::span<const std::string> without_padding(std::span<const std::string> words) {
  if (words.empty() || words.front().find(' ') == std::string::npos) return words;
  while (words.size() > 1 && words.back().empty()) words = words.first(words.size() - 1);
  return words;
}

std::string command_text(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : without_padding(words)) {
    if (!text.empty()) text += ' ';
    const bool plain = !word.empty() && word.find_first_of(" \t\n'\"\\$`*?[]{}();&|<>#~!") == std::string::npos;
    if (plain) {
      text += word;
      continue;
    }
    text += '\'';
    for (char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += '\'';
  }
  return text;
}

class ProcessRow {
 public:
  void text(const char* name, std::string_view value) { table_.add(table_.column(name, ColumnType::String), value); }
  void number(const char* name, std::int64_t value) { table_.add(table_.column(name, ColumnType::Int64), value); }
  void number(const char* name, std::optional<std::int64_t> value) {
    table_.add(table_.column(name, ColumnType::Int64), value);
  }
  void mode(const std::string& prefix, const ModeSums& sums) {
    number((prefix + "_blocks").c_str(), sums.blocks());
    number((prefix + "_requested_bytes").c_str(), sums.requested_bytes());
    number((prefix + "_usable_bytes").c_str(), sums.usable_bytes());
    number((prefix + "_gross_bytes").c_str(), sums.gross_bytes());
  }
  void no_mode(const std::string& prefix) {
    for (const char* what : {"_blocks", "_requested_bytes", "_usable_bytes", "_gross_bytes"}) {
      number((prefix + what).c_str(), std::nullopt);
    }
  }
  Table take() { return table_.take(); }

 private:
  TableBuilder table_{"process"};
};

Table process_table(const ReplayEngine& engine, const trace::ProcessInfo& info, const trace::Clock& clock,
                    std::span<const trace::ClockPair> clock_pairs, const Totals& totals) {
  const LedgerCounts& counts = engine.counts();
  ProcessRow row;
  row.text("program", std::string_view(info.exe).substr(info.exe.rfind('/') + 1));
  row.text("exe", info.exe);
  row.number("pid", std::int64_t{info.pid});
  row.number("parent_pid", std::int64_t{info.parent_pid});
  row.number("image_index", std::int64_t{info.image_index});
  row.text("command_line", command_text(info.command_line));
  row.text("cwd", info.cwd);
  row.text("host", info.host);
  row.text("kernel", info.kernel);
  row.text("allocator", name_of(info.allocator));
  row.text("allocator_path", info.allocator_path);
  row.number("page_bytes", std::int64_t{info.page_bytes});
  row.number("start_realtime_ns", whole(info.start_realtime_ns));
  std::uint64_t end_stamp = engine.last_stamp();
  if (!clock_pairs.empty() && clock_pairs.back().stamp > end_stamp) end_stamp = clock_pairs.back().stamp;
  row.number("duration_ns", whole(clock.ns(end_stamp)));
  row.number("complete", std::int64_t{info.ended_in_order ? 1 : 0});
  row.number("replaced_by_exec", std::int64_t{info.replaced_by_exec ? 1 : 0});
  row.number("launcher_died", std::int64_t{info.launcher_died ? 1 : 0});
  row.number("wait_status", info.wait_status ? std::optional<std::int64_t>(*info.wait_status) : std::nullopt);
  row.number("peak_rss_bytes",
             info.peak_rss_bytes ? std::optional<std::int64_t>(whole(info.peak_rss_bytes)) : std::nullopt);
  row.number("spool_bytes", info.spool_bytes ? std::optional<std::int64_t>(whole(info.spool_bytes)) : std::nullopt);
  row.number("sample_bytes", whole(info.sample_bytes));
  row.number("asleep_ns", info.asleep_ns ? std::optional<std::int64_t>(whole(*info.asleep_ns)) : std::nullopt);
  row.number("contents_recorded", std::int64_t{info.contents_recorded ? 1 : 0});
  row.number("events", whole(counts.alloc_events + counts.free_events + counts.realloc_events));
  row.number("alloc_events", whole(counts.alloc_events));
  row.number("free_events", whole(counts.free_events));
  row.number("realloc_events", whole(counts.realloc_events));
  row.number("map_events", whole(engine.map_events()));
  row.number("impossible_events", whole(counts.impossible_events));
  row.number("dropped_events", whole(std::max(counts.dropped_events, info.dropped_events)));
  row.number("unmatched_after_drops", whole(counts.unmatched_after_drops));
  row.number("pre_existing_frees", whole(counts.pre_existing_frees));
  row.number("truncated_stacks", whole(info.truncated_stacks));
  row.number("unwind_failures", whole(info.unwind_failures));
  row.number("folded_stacks", whole(info.folded.cut_stacks + info.folded.no_stacks));
  row.number("rounded_sizes", whole(info.folded.sizes));
  row.number("rounding_bytes", whole(info.folded.rounding_bytes));
  row.number("nested_events", whole(info.nested_events));
  row.number("threads", whole(engine.threads()));
  row.number("moments", std::int64_t{info.moments});
  row.number("inherited_blocks", totals.inherited.blocks());
  row.number("inherited_usable_bytes", totals.inherited.usable_bytes());
  row.number("peak_time_ns", whole(clock.ns(engine.peak_stamp())));
  row.mode("peak", totals.peak);
  row.mode("end", totals.end);
  row.mode("total", totals.total);
  if (totals.has_at) {
    row.mode("at", totals.at);
  } else {
    row.no_mode("at");
  }
  row.number("mapped_peak_bytes", whole(engine.mappings().peak_bytes()));
  row.number("mapped_end_bytes", whole(engine.mappings().bytes()));
  return row.take();
}

}  // namespace

const char* name_of(trace::AllocatorKind allocator) {
  switch (allocator) {
    case trace::AllocatorKind::Glibc:
      return "glibc";
    case trace::AllocatorKind::Jemalloc:
      return "jemalloc";
    case trace::AllocatorKind::Mimalloc:
      return "mimalloc";
    case trace::AllocatorKind::Tcmalloc:
      return "tcmalloc";
    case trace::AllocatorKind::Musl:
      return "musl";
    case trace::AllocatorKind::Unknown:
      break;
  }
  return "unknown";
}

Tables make_tables(const ReplayEngine& engine, const trace::Dictionary& dictionary, const trace::ProcessInfo& info,
                   std::span<const trace::ClockPair> clock_pairs) {
  const trace::Clock clock(clock_pairs);
  const DictionaryUnion names = unite(dictionary, engine.inherited_dictionary());
  Totals totals;
  totals.has_at = engine.asked_for_time();
  for (std::uint32_t shape = 0; shape < engine.inherited().sums.size(); ++shape) {
    const trace::Shape& facts = engine.inherited_dictionary().shapes[shape];
    totals.inherited.add(engine.inherited_blocks()[shape], facts.requested_bytes, facts.usable_bytes,
                         header_bytes(info.allocator, facts.usable_bytes), info.sample_bytes != 0 ? facts.weight : 1.0);
  }
  SiteSizes site_sizes(engine, info, ns_per_tick(engine, clock), totals);
  site_sizes.add_recorded(dictionary);
  site_sizes.add_inherited(engine.inherited_dictionary(), names.stack_of, dictionary.shapes.size());
  site_sizes.add_pools(dictionary);
  Tables tables;
  tables.put(process_table(engine, info, clock, clock_pairs, totals));
  tables.put(site_sizes.take());
  tables.put(chains_table(engine));
  tables.put(timeline_table(engine, clock));
  const auto facts = [&](std::uint32_t shape) {
    double ended = 0;
    for (std::size_t age = 0; age < kAgeClasses; ++age) ended += static_cast<double>(engine.ended(shape, age));
    const trace::Shape& one = dictionary.shapes[shape];
    const double weight = info.sample_bytes != 0 ? one.weight : 1.0;
    return ContentSums::ShapeFacts{one.stack, one.requested_bytes, ended, weight};
  };
  tables.put(engine.contents().written_table(facts, engine.peak_epoch()));
  tables.put(engine.contents().recreated_table());
  tables.put(engine.call_costs().table(ns_per_tick(engine, clock)));
  tables.put(stacks_table(names.dictionary));
  tables.put(rows_table(names.dictionary));
  tables.put(modules_table(names.dictionary));
  tables.put(unwind_gaps_table(names.dictionary, info.unwind_gaps));
  return tables;
}

}  // namespace tare::core
