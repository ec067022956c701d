// A recording for readers: tables by name, from the cache or by replaying the trace, and names for addresses.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/allocated_types/pointed_types.h"
#include "core/columns/tables.h"
#include "core/heavy_tables/blocks.h"
#include "core/heavy_tables/program_reports.h"
#include "core/recording/names.h"
#include "core/sites/line_callers.h"
#include "tare/size_classes.h"
#include "trace/base/result.h"
#include "trace/open/open_trace.h"

namespace tare::core {

struct RecordingOptions {
  std::optional<std::uint64_t> at_ns;  // fills the columns at_*; needs a replay, cached tables don't have them
  trace::ReplayProgress progress;
  std::shared_ptr<const Tables> tables = nullptr;  // of this trace, if the caller has them; not used with at_ns
  bool by_thread = false;  // thread_tables() will be called: if the trace is replayed now, that needs no other walk
};

class Recording {
 public:
  // A damaged trace yields the part before the damage, and a warning; an error means that nothing can be shown.
  static Result<Recording> open(const std::string& path, const RecordingOptions& options = {});

  // Of a recording that still goes on, from tables that its launcher left in a file (request_desk.h), which is deleted.
  // Requests that need another walk over the trace are errors. Corrupt, Io.
  static Result<Recording> of_tables(const std::string& path);
  // The same recording at a later time: resolved names are kept.
  Status renew(const std::string& path);

  Recording(Recording&&) noexcept;
  Recording& operator=(Recording&&) noexcept;
  ~Recording();

  // process, site_sizes, chains, timeline, recreated, call_costs, failed_requests, stacks, rows, modules; after
  // find_sites() sites, stack_sites and written. Null: no such table.
  std::shared_ptr<const Table> table(std::string_view name) const;
  const std::vector<std::string>& warnings() const;

  // Makes sites and stack_sites for stacks cut to `depth` frames.
  void find_sites(std::uint32_t depth);

  // site_sizes, chains, sites and stack_sites by line, see fold.h; after find_sites().
  std::shared_ptr<const Table> line_table(std::string_view name);

  // As line_table(), but site_sizes and its size_classes with fewer rows: see size_bands.h. For recordings that nothing
  // else names shapes of.
  std::shared_ptr<const Table> banded_table(std::string_view name);

  // site_sizes, stack_sites and large_stacks by site, after find_sites(): see fold_sizes_by_site.
  std::shared_ptr<const Table> table_by_site(std::string_view name);

  // Of lines that name sites, after find_sites(): see line_callers.h.
  std::vector<LineCaller> line_callers(std::span<const trace::RowId> lines) const;

  // The model of the recorded allocator, by the sizes that were measured; null: unknown.
  const SizeModel* size_model() const;
  // See size_classes.h.
  Result<Table> size_classes(std::string_view model_name) const;

  // Walks the trace once more and hands out table `blocks` in batches. Damage ends it with Corrupt, after the blocks
  // before it.
  Status list_blocks(const BlockSink& sink, const trace::ReplayProgress& progress) const;

  // Walks the trace again for the program's own reports: tables reports, pools, pool_memory, pool_blocks, and claimed
  // at one time. Damage is one of the warnings; the tables have the part before it.
  struct ProgramTables {
    std::vector<std::shared_ptr<const Table>> tables;
    std::vector<std::string> warnings;
  };
  Result<ProgramTables> program_tables(const ClaimedTime& moment, const trace::ReplayProgress& progress) const;

  // Walks the trace again for the contents of blocks: table block_history.
  Result<ProgramTables> history_tables(const trace::ReplayProgress& progress) const;

  // Line (after find_sites()): shapes and stacks are those of line_table("site_sizes").
  enum class DetailLevel : std::uint8_t { Stack, Line };
  // snapshots, snapshot_blocks, snapshot_sizes and pointer_words; warnings list unreadable parts.
  Result<ProgramTables> snapshot_tables(DetailLevel detail, const std::vector<trace::StackId>& suppressed);
  // Stacks of blocks that were unreachable in a snapshot, ascending: `suppressed` is a selection of these.
  Result<std::vector<trace::StackId>> leaking_stacks() const;
  // Walks the trace once more for the lifetimes of blocks: tables lifetimes and intervals.
  Result<ProgramTables> life_tables(const trace::ReplayProgress& progress) const;
  // Table thread_sizes. Replays the trace again if by_thread wasn't set, or the tables came from a cache. `at_ns`: as
  // for open().
  Result<ProgramTables> thread_tables(std::optional<std::uint64_t> at_ns, const trace::ReplayProgress& progress) const;
  // Walks the trace once more for pairs of blocks that live and die together: table twins.
  Result<ProgramTables> twin_tables(DetailLevel detail, const trace::ReplayProgress& progress);

  // Return addresses of a stack, innermost first, at most `depth`.
  std::vector<trace::RowId> stack_rows(trace::StackId stack, std::size_t depth) const;
  // By StackId, for as long as the recording lives.
  std::span<const trace::StackNode> stack_nodes() const;
  // Types that the code has pointers to: see row_types.h.
  std::vector<std::vector<PointedType>> row_types(std::span<const trace::RowId> rows) const;

  Names& names();

 private:
  struct State;
  // site_sizes at that level; puts its shapes into `tables`.
  Result<std::shared_ptr<const Table>> put_sizes(DetailLevel detail, Tables& tables);
  explicit Recording(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tare::core
