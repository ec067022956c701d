// Tables `process`, `site_sizes`, `chains` and `timeline` from what the engine has summed up.
#include "core/replay/replay_tables.h"

#include <cmath>
#include <limits>
#include <string>

#include "core/replay/dictionary_union.h"
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
  void add(std::uint64_t blocks, const trace::Shape& shape, std::uint64_t header, double weight) {
    if (blocks == 0) return;
    if (weight == 1.0) {
      const unsigned __int128 count = blocks;
      blocks_ += count;
      requested_ += count * shape.requested_bytes;
      usable_ += count * shape.usable_bytes;
      gross_ += count * (shape.usable_bytes + header);
    } else {
      const double count = weight * static_cast<double>(blocks);
      const auto usable = static_cast<double>(shape.usable_bytes);
      weighted_blocks_ += count;
      weighted_requested_ += count * static_cast<double>(shape.requested_bytes);
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
      : engine_(engine), info_(info), ns_per_age_(ns_per_tick * (1 << kAgeShift)), totals_(totals) {}

  void add_recorded(const trace::Dictionary& dictionary) {
    const auto& group = engine_.recorded();
    for (std::uint32_t shape = 0; shape < group.sums.size(); ++shape) {
      std::uint64_t ended[kAgeClasses];
      std::uint64_t total = group.sums[shape].live;
      for (std::size_t age = 0; age < kAgeClasses; ++age) total += ended[age] = engine_.ended(shape, age);
      if (total == 0) continue;
      const trace::Shape& facts = dictionary.shapes[shape];
      const std::uint64_t header = add_common(group, shape, shape, facts, facts.stack, total);
      table_.add(inherited_, std::int64_t{0});
      for (std::size_t age = 0; age < kAgeClasses; ++age) table_.add(freed_[age], whole(ended[age]));
      const std::uint64_t end_age = (engine_.last_stamp() - engine_.first_stamp()) >> kAgeShift;
      const std::uint64_t age_sum = group.sums[shape].age_sum + group.sums[shape].live * end_age;
      const double lifetime = static_cast<double>(age_sum) * ns_per_age_;
      table_.add(lifetime_ns_, lifetime);
      table_.add(byte_ns_, lifetime * static_cast<double>(facts.usable_bytes + header));
    }
  }

  // Shapes of the parent's dictionary get ids after the last of the child's own.
  void add_inherited(const trace::Dictionary& dictionary, const std::vector<trace::StackId>& stack_of,
                     std::size_t first_id) {
    const auto& group = engine_.inherited();
    for (std::uint32_t shape = 0; shape < group.sums.size(); ++shape) {
      const trace::Shape& facts = dictionary.shapes[shape];
      add_common(group, shape, first_id + shape, facts, stack_of[index(facts.stack)], 0);
      table_.add(inherited_, std::int64_t{1});
      for (std::size_t age = 0; age < kAgeClasses; ++age) table_.add(freed_[age], std::int64_t{0});
      table_.add(lifetime_ns_, 0.0);
      table_.add(byte_ns_, 0.0);
    }
  }

  Table take() { return table_.take(); }

 private:
  std::uint64_t add_common(const ReplayEngine::Group& group, std::uint32_t shape, std::size_t id,
                           const trace::Shape& facts, trace::StackId stack, std::uint64_t total) {
    const std::uint64_t header = header_bytes(info_.allocator, facts.usable_bytes);
    const double weight = info_.sample_bytes != 0 ? facts.weight : 1.0;
    const std::uint32_t peak = group.live_at_peak[shape];
    const std::uint32_t end = group.sums[shape].live;
    table_.add(shape_id_, static_cast<std::int64_t>(id));
    table_.add(stack_id_, std::int64_t{index(stack)});
    table_.add_code(api_, static_cast<std::int32_t>(facts.api) & 31);
    table_.add(align_bytes_, facts.align_log2 == 0 ? std::int64_t{0} : std::int64_t{1} << (facts.align_log2 & 63));
    table_.add(requested_bytes_, whole(facts.requested_bytes));
    table_.add(usable_bytes_, whole(facts.usable_bytes));
    table_.add(header_bytes_, whole(header));
    table_.add(weight_, weight);
    table_.add(total_blocks_, whole(total));
    table_.add(peak_blocks_, std::int64_t{peak});
    table_.add(end_blocks_, std::int64_t{end});
    if (totals_.has_at) {
      const std::uint32_t at = shape < group.live_at.size() ? group.live_at[shape] : 0;
      table_.add(at_blocks_, std::int64_t{at});
      totals_.at.add(at, facts, header, weight);
    } else {
      table_.add_null(at_blocks_);
    }
    totals_.peak.add(peak, facts, header, weight);
    totals_.end.add(end, facts, header, weight);
    totals_.total.add(total, facts, header, weight);
    return header;
  }

  const ReplayEngine& engine_;
  const trace::ProcessInfo& info_;
  double ns_per_age_;
  Totals& totals_;
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

std::string command_text(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
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
  row.number("wait_status", info.wait_status ? std::optional<std::int64_t>(*info.wait_status) : std::nullopt);
  row.number("peak_rss_bytes",
             info.peak_rss_bytes ? std::optional<std::int64_t>(whole(info.peak_rss_bytes)) : std::nullopt);
  row.number("sample_bytes", whole(info.sample_bytes));
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
  row.number("nested_events", whole(info.nested_events));
  row.number("threads", whole(engine.threads()));
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
    totals.inherited.add(engine.inherited_blocks()[shape], facts, header_bytes(info.allocator, facts.usable_bytes),
                         info.sample_bytes != 0 ? facts.weight : 1.0);
  }
  SiteSizes site_sizes(engine, info, ns_per_tick(engine, clock), totals);
  site_sizes.add_recorded(dictionary);
  site_sizes.add_inherited(engine.inherited_dictionary(), names.stack_of, dictionary.shapes.size());
  Tables tables;
  tables.put(process_table(engine, info, clock, clock_pairs, totals));
  tables.put(site_sizes.take());
  tables.put(chains_table(engine));
  tables.put(timeline_table(engine, clock));
  tables.put(stacks_table(names.dictionary));
  tables.put(rows_table(names.dictionary));
  tables.put(modules_table(names.dictionary));
  return tables;
}

}  // namespace tare::core
