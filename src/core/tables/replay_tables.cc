// Tables `process`, `chains` and `timeline` from the sums of the engine.
#include "core/tables/replay_tables.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "core/analysis/dictionary_union.h"
#include "core/tables/mode_sums.h"
#include "core/tables/site_sizes_table.h"
#include "core/tables/thread_sizes_table.h"
#include "trace/model/python_state.h"
#include "trace/open/open_trace.h"

namespace tare::core {
namespace {

// Of a python_word().
std::string python_text(std::uint32_t word) {
  const int minor = trace::python_minor_of(word);
  const std::string version = minor == 0 ? "" : "3." + std::to_string(minor);
  switch (trace::python_state_of(word)) {
    case trace::PythonState::None:
      return {};
    case trace::PythonState::Unproven:
    case trace::PythonState::Woven:
      return version;
    case trace::PythonState::UnknownVersion:
      return version + ": unknown-version";
    case trace::PythonState::FreeThreaded:
      return version + ": free-threaded";
    case trace::PythonState::UnknownLayout:
      return version + ": unknown-layout";
  }
  return {};
}

using trace::index;

std::int64_t from_q(std::uint64_t value_q) { return static_cast<std::int64_t>(value_q >> kFractionBits); }

// One tick is so many nanoseconds, on average over the recording.
double ns_per_tick(const ReplayEngine& engine, const trace::Clock& clock) {
  const std::uint64_t ticks = engine.last_stamp() - engine.first_stamp();
  if (engine.last_stamp() <= engine.first_stamp()) return 0;
  return static_cast<double>(clock.ns(engine.last_stamp()) - clock.ns(engine.first_stamp())) /
         static_cast<double>(ticks);
}

Table chains_table(const ReplayEngine& engine) {
  TableBuilder table("growth");
  const auto stack_id = table.column("stack_id");
  const auto kind = table.column("kind");
  const auto max_requested_bytes = table.column("max_requested_bytes");
  struct Sum {
    TableBuilder::ColumnId id;
    double ChainRow::* member;
  };
  const Sum sums[] = {
      {table.column("grown_blocks"), &ChainRow::chains},
      {table.column("steps"), &ChainRow::steps},
      {table.column("slow_steps"), &ChainRow::slow_steps},
      {table.column("in_place_steps"), &ChainRow::in_place_steps},
      {table.column("copied_bytes"), &ChainRow::copied_bytes},
      {table.column("doubling_copied_bytes"), &ChainRow::doubling_copied_bytes},
      {table.column("requested_bytes"), &ChainRow::requested_bytes},
      {table.column("rounded_4k_bytes"), &ChainRow::rounded_4k_bytes},
      {table.column("doubling_bytes"), &ChainRow::doubling_bytes},
      {table.column("peak_blocks"), &ChainRow::live_at_peak},
  };
  for (const ChainRow& row : engine.chains().rows()) {
    table.add(stack_id, std::int64_t{index(row.stack)});
    table.add(kind, std::string_view(row.kind == GrowthKind::Realloc ? "realloc" : "malloc-copy-free"));
    table.add(max_requested_bytes, to_column(row.max_requested_bytes));
    for (const Sum& sum : sums) table.add(sum.id, row.*sum.member);
  }
  return table.take();
}

// Resident bytes are 0 if the launcher took no reading.
Table mappings_table(const ReplayEngine& engine, double tick_ns) {
  TableBuilder table("mappings");
  const auto stack_id = table.column("stack_id");
  const auto maps = table.column("maps");
  const auto mapped_bytes = table.column("mapped_bytes");
  const auto unmapped_bytes = table.column("unmapped_bytes");
  const auto unmapped_byte_ns = table.column("unmapped_byte_ns");
  const auto most_bytes = table.column("max_bytes");
  const auto end_bytes = table.column("end_bytes");
  const auto accessible_bytes = table.column("accessible_bytes");
  const auto resident_bytes = table.column("resident_bytes");
  const std::map<std::uint32_t, Mappings::Sums> sums(engine.mappings().sums().begin(), engine.mappings().sums().end());
  for (const auto& [stack, sum] : sums) {
    ResidentUse::Mapped mapped;
    if (engine.at_reading()) {
      const auto found = engine.at_reading()->use.mapped.find(stack);
      if (found != engine.at_reading()->use.mapped.end()) mapped = found->second;
    }
    table.add(stack_id, std::int64_t{stack});
    table.add(maps, to_column(sum.maps));
    table.add(mapped_bytes, to_column(sum.mapped_bytes));
    table.add(unmapped_bytes, to_column(sum.unmapped_bytes));
    table.add(unmapped_byte_ns, sum.unmapped_byte_ticks * tick_ns);
    table.add(most_bytes, static_cast<double>(sum.peak_bytes));
    table.add(end_bytes, to_column(sum.bytes));
    table.add(accessible_bytes, to_column(mapped.accessible_bytes));
    table.add(resident_bytes, to_column(mapped.resident_bytes));
  }
  return table.take();
}

Table failed_requests_table(const ReplayEngine& engine, const trace::Clock& clock) {
  TableBuilder table("failed_requests");
  const auto stack_id = table.column("stack_id");
  const auto api = table.column("api", api_words());
  const auto requests = table.column("requests");
  const auto min_requested_bytes = table.column("min_requested_bytes");
  const auto max_requested_bytes = table.column("max_requested_bytes");
  const auto first_ns = table.column("first_ns");
  const auto last_ns = table.column("last_ns");
  const auto last_requested_bytes = table.column("last_requested_bytes");
  const auto last_thread = table.column("last_thread");
  const auto last_number = table.column("last_number");
  for (const auto& [key, sum] : engine.failed_requests().sums()) {
    table.add(stack_id, std::int64_t{key.first});
    table.add_code(api, static_cast<std::int32_t>(key.second));
    table.add(requests, to_column(sum.requests));
    table.add(min_requested_bytes, to_column(sum.min_bytes));
    table.add(max_requested_bytes, to_column(sum.max_bytes));
    table.add(first_ns, to_column(clock.ns(sum.first_stamp)));
    table.add(last_ns, to_column(clock.ns(sum.last_stamp)));
    table.add(last_requested_bytes, to_column(sum.last_bytes));
    table.add(last_thread, std::int64_t{sum.last_thread});
    table.add(last_number, to_column(sum.last_number));
  }
  return table.take();
}

Table timeline_table(const ReplayEngine& engine, const trace::Clock& clock) {
  TableBuilder table("timeline");
  const auto time_ns = table.column("time_ns");
  const auto requested_bytes = table.column("requested_bytes");
  const auto usable_bytes = table.column("usable_bytes");
  const auto gross_bytes = table.column("gross_bytes");
  const auto max_gross_bytes = table.column("max_gross_bytes");  // since the row before
  const auto blocks = table.column("blocks");
  const auto alloc_events = table.column("alloc_events");  // since the row before, reallocs in both
  const auto free_events = table.column("free_events");
  const auto mapped_bytes = table.column("mapped_bytes");
  std::uint64_t allocs = 0;
  std::uint64_t frees = 0;
  for (const TimelineRow& row : engine.timeline().rows()) {
    table.add(time_ns, to_column(clock.ns(row.last_stamp)));
    table.add(requested_bytes, from_q(row.requested_q));
    table.add(usable_bytes, from_q(row.usable_q));
    table.add(gross_bytes, from_q(row.gross_q));
    table.add(max_gross_bytes, from_q(row.max_gross_q));
    table.add(blocks, from_q(row.blocks_q));
    table.add(alloc_events, to_column(row.alloc_events - allocs));
    table.add(free_events, to_column(row.free_events - frees));
    table.add(mapped_bytes, to_column(row.mapped_bytes));
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

// Other profilers join the arguments by spaces: quotes would claim to know where each ends.
std::string command_text(const std::vector<std::string>& words, bool is_imported) {
  std::string text;
  for (const std::string& word : without_padding(words)) {
    if (!text.empty()) text += ' ';
    const bool plain =
        is_imported || (!word.empty() && word.find_first_of(" \t\n'\"\\$`*?[]{}();&|<>#~!") == std::string::npos);
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
  void text(const char* name, std::string_view value) { table_.add(table_.column(name), value); }
  // Empty: null.
  void known_text(const char* name, std::string_view value) {
    const auto column = table_.column(name);
    if (value.empty()) return table_.add_null(column);
    table_.add(column, value);
  }
  void number(const char* name, std::int64_t value) { table_.add(table_.column(name), value); }
  void number(const char* name, std::optional<std::int64_t> value) { table_.add(table_.column(name), value); }
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

// Of a recording in one file they are null.
void segment_columns(const std::optional<trace::Segment>& segment, ProcessRow& row) {
  const auto number = [&](const char* name, std::uint64_t value) {
    row.number(name, segment ? std::optional(to_column(value)) : std::nullopt);
  };
  const trace::SegmentSums before = segment ? segment->before : trace::SegmentSums{};
  number("segment", segment ? segment->number : 0);
  number("continued", segment && segment->continued ? 1 : 0);
  number("before_ns", before.duration_ns);
  number("before_alloc_events", before.alloc_events);
  number("before_free_events", before.free_events);
  number("before_realloc_events", before.realloc_events);
  number("before_map_events", before.map_events);
  number("before_blocks", before.total_blocks);
  number("before_requested_bytes", before.total_requested_bytes);
  number("before_usable_bytes", before.total_usable_bytes);
  number("before_gross_bytes", before.total_gross_bytes);
  number("before_peak_gross_bytes", before.peak_gross_bytes);
  number("before_peak_ns", before.peak_ns);
  number("before_dropped_events", before.dropped_events);
}

// Null where the launcher read none.
void reading_columns(const ReplayEngine& engine, const trace::ProcessInfo& info, const trace::Clock& clock,
                     ProcessRow& row) {
  const bool known = info.reading && engine.at_reading();
  const trace::MemoryReading reading = known ? *info.reading : trace::MemoryReading{};
  const ReplayEngine::AtReading owners = known ? *engine.at_reading() : ReplayEngine::AtReading{};
  const auto number = [&](const char* name, std::uint64_t value) {
    row.number(name, known ? std::optional(to_column(value)) : std::nullopt);
  };
  number("rss_read_ns", known ? clock.ns(reading.stamp) : 0);
  number("rss_gross_bytes", owners.gross_bytes);
  number("rss_heap_bytes", owners.use.heap_bytes);
  number("rss_mapping_bytes", owners.use.mapping_bytes);
  number("rss_mapping_spread_bytes", owners.use.mapping_spread);
  number("rss_file_bytes", reading.file_bytes + owners.use.file_bytes);
  number("rss_shared_bytes", reading.shared_bytes);
  number("rss_stack_bytes", reading.stack_bytes + owners.use.stack_bytes);
  number("rss_other_bytes", reading.other_bytes + owners.use.other_bytes);
  number("rss_recorder_bytes", reading.recorder_bytes);
  number("huge_page_bytes", reading.huge_bytes);
  number("page_table_bytes", reading.page_table_bytes);
}

void put_sampling(ProcessRow& row, const std::optional<trace::SamplingUse>& use) {
  constexpr std::string_view kLimits[] = {"", "memory", "disk", "cpu"};
  const auto number = [&](const char* name, bool is_known, std::uint64_t value) {
    row.number(name, is_known ? std::optional(to_column(value)) : std::nullopt);
  };
  const trace::SamplingUse known = use.value_or(trace::SamplingUse{});
  number("sample_doublings", use.has_value(), known.doublings);
  row.known_text("sampling_stopped_by", kLimits[static_cast<std::size_t>(known.stopped_by)]);
  number("sampling_stopped_ns", known.stopped_by != trace::SamplingLimit::None, known.stopped_after_ns);
  number("recorder_cpu_ns", use.has_value(), known.recorder_cpu_ns);
  number("process_cpu_ns", use.has_value(), known.process_cpu_ns);
}

void put_memory_kill(ProcessRow& row, const std::optional<trace::MemoryKill>& kill) {
  const auto number = [&](const char* name, std::uint64_t value) {
    row.number(name, kill ? std::optional(to_column(value)) : std::nullopt);
  };
  row.known_text("out_of_memory", kill ? trace::certainty_of(*kill) : std::string_view());
  row.known_text("memory_group", kill ? std::string_view(kill->group) : std::string_view());
  number("memory_kills_before", kill ? kill->kills_before : 0);
  number("memory_kills_after", kill ? kill->kills_after : 0);
  number("memory_deaths", kill ? kill->deaths : 0);
  row.number("memory_limit_bytes",
             kill && kill->limit_bytes != 0 ? std::optional(to_column(kill->limit_bytes)) : std::nullopt);
}

Table process_table(const ReplayEngine& engine, const trace::ProcessInfo& info, const trace::Clock& clock,
                    std::span<const trace::ClockPair> clock_pairs, const Totals& totals) {
  const LedgerCounts& counts = engine.counts();
  ProcessRow row;
  row.text("program", std::string_view(info.exe).substr(info.exe.rfind('/') + 1));
  row.text("exe", info.exe);
  row.number("pid", std::int64_t{info.pid});
  row.number("parent_pid", std::int64_t{info.parent_pid});
  row.number("image_index", std::int64_t{info.image_index});
  row.text("command_line", command_text(info.command_line, !info.imported_from.empty()));
  row.known_text("title", info.title);
  row.number("forked", std::int64_t{info.fork ? 1 : 0});
  row.text("cwd", info.cwd);
  row.text("host", info.host);
  row.text("kernel", info.kernel);
  row.text("allocator", name_of(info.allocator));
  row.text("allocator_path", info.allocator_path);
  row.number("page_bytes", std::int64_t{info.page_bytes});
  row.number("start_realtime_ns", to_column(info.start_realtime_ns));
  std::uint64_t end_stamp = engine.last_stamp();
  if (!clock_pairs.empty() && clock_pairs.back().stamp > end_stamp) end_stamp = clock_pairs.back().stamp;
  row.number("duration_ns", to_column(clock.ns(end_stamp)));
  row.number("complete", std::int64_t{info.ended_in_order ? 1 : 0});
  row.number("replaced_by_exec", std::int64_t{info.replaced_by_exec ? 1 : 0});
  row.number("launcher_died", std::int64_t{info.launcher_died ? 1 : 0});
  row.number("wait_status", info.wait_status ? std::optional<std::int64_t>(*info.wait_status) : std::nullopt);
  put_memory_kill(row, info.memory_kill);
  row.number("peak_rss_bytes",
             info.peak_rss_bytes ? std::optional<std::int64_t>(to_column(info.peak_rss_bytes)) : std::nullopt);
  row.number("earlier_peak_rss_bytes",
             info.earlier_peak_bytes ? std::optional<std::int64_t>(to_column(info.earlier_peak_bytes)) : std::nullopt);
  row.number("spool_bytes", info.spool_bytes ? std::optional<std::int64_t>(to_column(info.spool_bytes)) : std::nullopt);
  row.known_text("imported_from", info.imported_from);
  row.known_text("missing_facts", info.missing_facts);
  row.number("sample_bytes", to_column(info.sample_bytes));
  put_sampling(row, info.sampling);
  row.number("paused_ns", info.asleep_ns ? std::optional<std::int64_t>(to_column(*info.asleep_ns)) : std::nullopt);
  row.number("contents_recorded", std::int64_t{info.contents_recorded ? 1 : 0});
  row.number("contents_at_exit", std::int64_t{engine.has_exit_contents() ? 1 : 0});
  row.number("events", to_column(counts.alloc_events + counts.free_events + counts.realloc_events));
  row.number("alloc_events", to_column(counts.alloc_events));
  row.number("free_events", to_column(counts.free_events));
  row.number("realloc_events", to_column(counts.realloc_events));
  row.number("map_events", to_column(engine.map_events()));
  row.number("impossible_events", to_column(counts.impossible_events));
  row.number("dropped_events", to_column(std::max(counts.dropped_events, info.dropped_events)));
  row.number("unmatched_after_drops", to_column(counts.unmatched_after_drops));
  row.number("pre_existing_frees", to_column(counts.pre_existing_frees));
  row.number("truncated_stacks", to_column(info.truncated_stacks));
  row.number("unwind_failures", to_column(info.unwind_failures));
  row.number("folded_stacks", to_column(info.folded.cut_stacks + info.folded.no_stacks));
  row.number("rounded_sizes", to_column(info.folded.sizes));
  row.number("rounding_bytes", to_column(info.folded.rounding_bytes));
  row.number("nested_events", to_column(info.nested_events));
  row.known_text("python", python_text(info.python));
  row.number("threads", to_column(engine.threads()));
  row.number("snapshots", std::int64_t{info.moments});
  row.number("inherited_blocks", totals.inherited.blocks());
  row.number("inherited_usable_bytes", totals.inherited.usable_bytes());
  row.number("peak_time_ns", to_column(clock.ns(engine.peak_stamp())));
  row.number("peak_after_allocations",
             info.sample_bytes != 0 ? std::nullopt : std::optional<std::int64_t>(engine.peak_births()));
  row.mode("peak", totals.peak);
  row.mode("end", totals.end);
  row.mode("total", totals.total);
  if (totals.has_at) {
    row.mode("at", totals.at);
  } else {
    row.no_mode("at");
  }
  segment_columns(info.segment, row);
  reading_columns(engine, info, clock, row);
  row.number("mapped_peak_bytes", to_column(engine.mappings().peak_bytes()));
  row.number("mapped_end_bytes", to_column(engine.mappings().bytes()));
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
  totals.has_at = engine.has_requested_time();
  for (std::uint32_t shape = 0; shape < engine.inherited().sums.size(); ++shape) {
    const trace::Shape& facts = engine.inherited_dictionary().shapes[shape];
    totals.inherited.add(engine.inherited_blocks()[shape], facts.requested_bytes, facts.usable_bytes,
                         header_bytes(info.allocator, facts), info.sample_bytes != 0 ? facts.weight : 1.0);
  }
  Table site_sizes = site_sizes_table(engine, dictionary, info, names.stack_of, ns_per_tick(engine, clock), totals);
  Tables tables;
  tables.put(process_table(engine, info, clock, clock_pairs, totals));
  tables.put(std::move(site_sizes));
  if (engine.threads_of_shapes()) tables.put(thread_sizes_table(engine, dictionary, info, names.stack_of));
  tables.put(chains_table(engine));
  tables.put(timeline_table(engine, clock));
  tables.put(mappings_table(engine, ns_per_tick(engine, clock)));
  const auto facts = [&](std::uint32_t shape) {
    double ended = 0;
    for (std::size_t age = 0; age < kAgeClasses; ++age) ended += static_cast<double>(engine.ended(shape, age));
    if (engine.has_exit_contents()) ended += engine.recorded().sums[shape].live;
    const trace::Shape& one = dictionary.shapes[shape];
    const double weight = info.sample_bytes != 0 ? one.weight : 1.0;
    return ContentSums::ShapeFacts{one.stack, one.requested_bytes, ended, weight};
  };
  tables.put(engine.contents().written_table(facts, engine.peak_epoch()));
  tables.put(engine.contents().recreated_table());
  const auto contents_facts = [&](std::uint32_t shape) {
    return PeakContents::ShapeFacts{dictionary.shapes[shape].stack, dictionary.shapes[shape].requested_bytes};
  };
  tables.put(engine.peak_contents().table(contents_facts, engine.peak_epoch()));
  tables.put(engine.call_costs().table(ns_per_tick(engine, clock)));
  tables.put(failed_requests_table(engine, clock));
  tables.put(stacks_table(names.dictionary));
  tables.put(rows_table(names.dictionary));
  tables.put(modules_table(names.dictionary));
  if (!names.dictionary.given_frames.empty()) tables.put(given_frames_table(names.dictionary));
  tables.put(unwind_gaps_table(names.dictionary, info.unwind_gaps));
  return tables;
}

}  // namespace tare::core
