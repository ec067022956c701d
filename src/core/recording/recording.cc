// Cache first; otherwise open, replay, and leave the tables for the next reader.
#include "core/recording/recording.h"
#include "core/tables/inherited.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/columns/table_cache.h"
#include "core/columns/table_codec.h"
#include "core/heavy_tables/block_history.h"
#include "core/heavy_tables/lifetimes.h"
#include "core/heavy_tables/program_reports.h"
#include "core/heavy_tables/twins.h"
#include "core/recording/fold.h"
#include "core/recording/pointer_words.h"
#include "core/recording/row_types.h"
#include "core/recording/size_bands.h"
#include "core/recording/size_classes.h"
#include "core/recording/snapshot_sizes.h"
#include "core/recording/twin_pairs.h"
#include "core/recording/written_sites.h"
#include "core/symbols/cache_file.h"
#include "core/tables/replay.h"
#include "core/tables/snapshot_tables.h"
#include "trace/base/expansion.h"
#include "trace/base/file_bytes.h"
#include "trace/open/finish_leftover.h"

namespace tare::core {
namespace {

constexpr const char* kWarnings = "warnings";  // warnings about the trace, stored with its tables

Table warnings_table(const std::vector<std::string>& warnings) {
  TableBuilder table(kWarnings);
  const auto text = table.column("text", ColumnType::String);
  for (const std::string& warning : warnings) table.add(text, std::string_view(warning));
  return table.take();
}

std::vector<std::string> warnings_of(const Tables& tables) {
  std::vector<std::string> warnings;
  if (const Table* table = tables.find(kWarnings)) {
    for (std::size_t row = 0; row < table->rows(); ++row) warnings.emplace_back((*table)["text"].text(row));
  }
  return warnings;
}

struct Replayed {
  Tables tables;
  std::optional<Table> threads;  // thread_sizes, if requested; caches don't have it
};

Result<Replayed> replayed(const std::string& path, const RecordingOptions& options) {
  // Moves the events that a killed launcher left in memory into the file; if that fails, opening reads both.
  static_cast<void>(trace::finish_leftover(path));
  auto opened = trace::open_trace(path);
  if (!opened) return opened.error();
  std::vector<std::string> warnings = opened->warnings();
  const std::optional<LiveSet> inherited = inherited_blocks(path, *opened, options.progress, warnings);
  Replay replay(opened->dictionary(), opened->info(), {options.at_ns, opened->clock_pairs(), options.by_thread});
  if (inherited) replay.inherit(*inherited);
  if (const Status read = opened->replay_into(replay, options.progress); !read)
    warnings.push_back(read.error().message);
  if (const Status read = replay_kept(*opened, replay); !read) warnings.push_back(read.error().message);
  Replayed made{replay.finish(opened->clock_pairs()), std::nullopt};
  if (options.by_thread) made.threads = made.tables.extract("thread_sizes");
  if (!warnings.empty()) made.tables.put(warnings_table(warnings));
  return made;
}

Result<Replayed> stored_or_replayed(const std::string& path, const RecordingOptions& options) {
  if (options.at_ns) return replayed(path, options);
  const TableCache cache(path);
  // Those of a file that exceeds the limits end where it did.
  const bool may_be_cut = trace::files_are_trusted();
  if (std::optional<Tables> stored = may_be_cut ? std::nullopt : cache.load(kReplayedTables))
    return Replayed{*std::move(stored), std::nullopt};
  Result<Replayed> fresh = replayed(path, options);
  // a cache that can't be written costs a replay next time, and is no reason to complain now
  if (fresh) static_cast<void>(cache.store(kReplayedTables, fresh->tables));
  return fresh;
}

// Its file goes: it was left for us.
Result<std::vector<std::uint8_t>> taken_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  struct stat facts{};
  std::vector<std::uint8_t> bytes;
  bool whole = fd >= 0 && ::fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode);
  if (whole) {
    bytes.resize(static_cast<std::size_t>(facts.st_size));
    whole = trace::read_at(fd, bytes.data(), bytes.size(), 0) == static_cast<std::int64_t>(bytes.size());
  }
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (!whole) return Error{ErrorKind::Io, "cannot read " + path + ": " + std::strerror(error)};
  ::unlink(path.c_str());
  return bytes;
}

}  // namespace

struct Recording::State {
  std::string path;
  std::shared_ptr<const Tables> replayed;
  std::shared_ptr<const Table> threads;  // thread_sizes, if the replay made it
  std::shared_ptr<const Tables> sites;
  std::shared_ptr<const Tables> lines;
  std::shared_ptr<const Tables> bands;
  std::shared_ptr<const Tables> by_site;
  std::optional<Table> twins;  // as one walk made them, by stack
  std::vector<std::string> warnings;
  trace::Dictionary dictionary;
  std::unique_ptr<Names> names;
};

Recording::Recording(std::unique_ptr<State> state) : state_(std::move(state)) {}
Recording::Recording(Recording&&) noexcept = default;
Recording& Recording::operator=(Recording&&) noexcept = default;
Recording::~Recording() = default;

Result<Recording> Recording::open(const std::string& path, const RecordingOptions& options) {
  std::shared_ptr<const Tables> tables = options.at_ns ? nullptr : options.tables;
  std::shared_ptr<const Table> threads;
  if (!tables) {
    auto stored = stored_or_replayed(path, options);
    if (!stored) return stored.error();
    tables = std::make_shared<const Tables>(std::move(stored->tables));
    if (stored->threads) threads = std::make_shared<const Table>(*std::move(stored->threads));
  }
  auto state = std::make_unique<State>();
  state->path = path;
  state->warnings = warnings_of(*tables);
  state->dictionary = dictionary_of(*tables);
  state->replayed = std::move(tables);
  state->threads = std::move(threads);
  return Recording(std::move(state));
}

Result<Recording> Recording::of_tables(const std::string& path) {
  Recording recording(std::make_unique<State>());
  if (Status status = recording.renew(path); !status) return status.error();
  return recording;
}

Status Recording::renew(const std::string& path) {
  Result<std::vector<std::uint8_t>> bytes = taken_file(path);
  if (!bytes) return bytes.error();
  std::optional<Tables> tables = decode_tables(*bytes);
  if (!tables || tables->find("process") == nullptr || tables->find("stacks") == nullptr) {
    return Error{ErrorKind::Corrupt, path + " holds no tables of a recording; is the launcher of another version?"};
  }
  state_->dictionary = dictionary_of(*tables);
  state_->replayed = std::make_shared<const Tables>(*std::move(tables));
  state_->sites = state_->lines = state_->bands = state_->by_site = nullptr;
  return ok();
}

std::shared_ptr<const Table> Recording::table(std::string_view name) const {
  for (const auto& tables : {state_->sites, state_->replayed}) {
    if (!tables) continue;
    if (const Table* found = tables->find(name)) return {tables, found};
  }
  return nullptr;
}

const std::vector<std::string>& Recording::warnings() const { return state_->warnings; }

void Recording::find_sites(std::uint32_t depth) {
  SiteFinder finder(*state_->replayed, depth);
  names().name_sites(finder);
  Tables found;
  finder.add_to(found);
  if (state_->replayed->find("written") != nullptr) found.put(written_at_sites(*state_->replayed, found));
  state_->sites = std::make_shared<const Tables>(std::move(found));
  state_->lines = state_->bands = state_->by_site = nullptr;
}

std::shared_ptr<const Table> Recording::line_table(std::string_view name) {
  if (!state_->sites) return nullptr;
  if (!state_->lines) state_->lines = std::make_shared<const Tables>(fold_by_line(*state_->replayed, *state_->sites));
  const Table* found = state_->lines->find(name);
  if (found == nullptr) return nullptr;
  return {state_->lines, found};
}

std::shared_ptr<const Table> Recording::banded_table(std::string_view name) {
  if (name != "site_sizes" && name != "size_classes") return line_table(name);
  if (!state_->bands) {
    const auto sizes = line_table("site_sizes");
    if (!sizes) return nullptr;
    const SizeModel* const model = model_of(*state_->replayed);
    Tables made;
    made.put(join_sizes(*sizes, model));
    made.put(size_classes_of(whole_sizes(made["site_sizes"]), model));
    state_->bands = std::make_shared<const Tables>(std::move(made));
  }
  const Table* const found = state_->bands->find(name);
  return {state_->bands, found};
}

std::shared_ptr<const Table> Recording::table_by_site(std::string_view name) {
  if (!state_->sites) return nullptr;
  if (!state_->by_site)
    state_->by_site = std::make_shared<const Tables>(fold_sizes_by_site(*state_->replayed, *state_->sites));
  const Table* const found = state_->by_site->find(name);
  if (found == nullptr) return table(name);
  return {state_->by_site, found};
}

std::vector<LineCaller> Recording::line_callers(std::span<const trace::RowId> lines) const {
  if (!state_->sites) return {};
  return core::line_callers(*state_->replayed, *state_->sites, lines);
}

const SizeModel* Recording::size_model() const { return model_of(*state_->replayed); }

Result<Table> Recording::size_classes(std::string_view model_name) const {
  return size_classes_table(*state_->replayed, model_name);
}

Status Recording::list_blocks(const BlockSink& sink, const trace::ReplayProgress& progress) const {
  auto opened = trace::open_trace(state_->path);
  if (!opened) return opened.error();
  std::vector<std::string> warnings;  // of making the tables
  const std::optional<LiveSet> inherited = inherited_blocks(state_->path, *opened, progress, warnings);
  BlockStream blocks(opened->dictionary(), opened->info(), opened->clock_pairs(), sink,
                     inherited ? &*inherited : nullptr);
  const Status read = opened->replay_into(blocks, progress);
  if (const Status handed_out = blocks.finish(); !handed_out) return handed_out;
  return read;
}

Result<Recording::ProgramTables> Recording::program_tables(const ClaimedTime& moment,
                                                           const trace::ReplayProgress& progress) const {
  auto opened = trace::open_trace(state_->path);
  if (!opened) return opened.error();
  ProgramTables result;
  std::vector<std::string> warnings;  // of making the tables
  const std::optional<LiveSet> inherited = inherited_blocks(state_->path, *opened, progress, warnings);
  ProgramReports reports(opened->dictionary(), opened->info(), opened->clock_pairs(), inherited ? &*inherited : nullptr,
                         moment);
  const Status read = opened->replay_into(reports, progress);
  Tables made = reports.finish();
  for (Table& table : made.tables) result.tables.push_back(std::make_shared<const Table>(std::move(table)));
  result.warnings = reports.warnings();
  if (!read) result.warnings.push_back(read.error().message);
  return result;
}

Result<Recording::ProgramTables> Recording::history_tables(const trace::ReplayProgress& progress) const {
  auto opened = trace::open_trace(state_->path);
  if (!opened) return opened.error();
  ProgramTables result;
  std::vector<std::string> warnings;  // of making the tables
  const std::optional<LiveSet> inherited = inherited_blocks(state_->path, *opened, progress, warnings);
  std::vector<trace::Moment> moments;
  const Status seen = opened->read_moments([&](trace::Moment moment) { moments.push_back(std::move(moment)); });
  BlockHistory history(opened->dictionary(), opened->info(), opened->clock_pairs(), std::move(moments),
                       inherited ? &*inherited : nullptr);
  const Status read = opened->replay_into(history, progress);
  Tables made = history.finish();
  for (Table& table : made.tables) result.tables.push_back(std::make_shared<const Table>(std::move(table)));
  if (!seen) result.warnings.push_back(seen.error().message);
  if (!read) result.warnings.push_back(read.error().message);
  return result;
}

Result<Recording::ProgramTables> Recording::life_tables(const trace::ReplayProgress& progress) const {
  auto opened = trace::open_trace(state_->path);
  if (!opened) return opened.error();
  ProgramTables result;
  std::vector<std::string> warnings;  // the replay that made the tables has already reported them
  const std::optional<LiveSet> inherited = inherited_blocks(state_->path, *opened, progress, warnings);
  const Table& process = (*state_->replayed)["process"];
  const auto ns = [&](const char* name) { return static_cast<std::uint64_t>(process[name].ints.front()); };
  std::optional<PeakPlace> peak;
  if (!process["peak_after_allocations"].is_null(0))
    peak = {ns("peak_time_ns"), static_cast<std::uint32_t>(process["peak_after_allocations"].ints.front())};
  Lifetimes lifetimes(opened->dictionary(), opened->info(), opened->clock_pairs(),
                      interval_ends(ns("duration_ns"), ns("peak_time_ns")), inherited ? &*inherited : nullptr, peak);
  if (const Status read = opened->replay_into(lifetimes, progress); !read)
    result.warnings.push_back(read.error().message);
  Tables made = lifetimes.finish();
  for (Table& table : made.tables) result.tables.push_back(std::make_shared<const Table>(std::move(table)));
  return result;
}

Result<Recording::ProgramTables> Recording::thread_tables(std::optional<std::uint64_t> at_ns,
                                                          const trace::ReplayProgress& progress) const {
  ProgramTables result;
  if (state_->threads) {
    result.tables.push_back(state_->threads);
    return result;
  }
  RecordingOptions options{at_ns, progress};
  options.by_thread = true;
  auto made = replayed(state_->path, options);  // its warnings were shown when the tables were made
  if (!made) return made.error();
  result.tables.push_back(std::make_shared<const Table>(*std::move(made->threads)));
  return result;
}

Result<std::shared_ptr<const Table>> Recording::put_sizes(DetailLevel detail, Tables& tables) {
  if (detail == DetailLevel::Stack) return table("site_sizes");
  auto sizes = line_table("site_sizes");
  const auto folded = line_table("folded_shapes");
  if (!sizes || !folded) return Error{ErrorKind::Internal, "tables by line need sites first"};
  put_line_shapes(*folded, *sizes, tables);
  return sizes;
}

Result<std::vector<trace::StackId>> Recording::leaking_stacks() const {
  auto opened = trace::open_trace(state_->path);
  if (!opened) return opened.error();
  return core::leaking_stacks(*opened);
}

Result<Recording::ProgramTables> Recording::snapshot_tables(DetailLevel detail,
                                                            const std::vector<trace::StackId>& suppressed) {
  auto opened = trace::open_trace(state_->path);
  if (!opened) return opened.error();
  ProgramTables result;
  Tables made;
  if (const Status read = make_snapshot_tables(*opened, suppressed, made); !read)
    result.warnings.push_back(read.error().message);
  if (const auto sizes = put_sizes(detail, made); !sizes) return sizes.error();
  made.put(pointer_words_table(made["snapshot_blocks"], model_of(*state_->replayed)));
  made.put(snapshot_sizes_table(made["snapshot_blocks"]));
  for (Table& table : made.tables) result.tables.push_back(std::make_shared<const Table>(std::move(table)));
  return result;
}

Result<Recording::ProgramTables> Recording::twin_tables(DetailLevel detail, const trace::ReplayProgress& progress) {
  ProgramTables result;
  if (!state_->twins) {  // a report needs it at both levels
    auto opened = trace::open_trace(state_->path);
    if (!opened) return opened.error();
    std::vector<std::string> warnings;  // of making the tables
    const std::optional<LiveSet> inherited = inherited_blocks(state_->path, *opened, progress, warnings);
    Twins twins(opened->dictionary(), opened->info(), inherited ? &*inherited : nullptr);
    if (const Status read = opened->replay_into(twins, progress); !read)
      result.warnings.push_back(read.error().message);
    state_->twins = twins.finish();
  }
  Tables made;
  made.put(*state_->twins);
  const auto sizes = put_sizes(detail, made);
  if (!sizes) return sizes.error();
  result.tables.push_back(std::make_shared<const Table>(
      twin_pairs_table(std::move(made.tables.front()), **sizes, model_of(*state_->replayed))));
  return result;
}

std::vector<trace::RowId> Recording::stack_rows(trace::StackId stack, std::size_t depth) const {
  std::vector<trace::RowId> rows;
  const auto& stacks = state_->dictionary.stacks;
  while (stack != trace::kEmptyStack && trace::index(stack) < stacks.size() && rows.size() < depth) {
    const trace::StackNode node = stacks[trace::index(stack)];
    rows.push_back(node.row);
    if (trace::index(node.caller) >= trace::index(stack))
      break;  // a caller's id is smaller, unless the trace is damaged
    stack = node.caller;
  }
  return rows;
}

std::span<const trace::StackNode> Recording::stack_nodes() const { return state_->dictionary.stacks; }

std::vector<std::vector<PointedType>> Recording::row_types(std::span<const trace::RowId> rows) const {
  return core::row_types(state_->dictionary, rows, default_cache_dir("types"));
}

Names& Recording::names() {
  if (!state_->names) state_->names = std::make_unique<Names>(state_->dictionary);
  return *state_->names;
}

}  // namespace tare::core
