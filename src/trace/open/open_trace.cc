// Opens traces in any state: see open_trace.h.
#include "trace/open/open_trace.h"

#include <algorithm>
#include <optional>

#include "trace/base/expansion.h"
#include "trace/file/trace_reader.h"
#include "trace/model/resident_growth.h"
#include "trace/open/block_merger.h"
#include "trace/open/finish_leftover.h"
#include "trace/open/joined_spool.h"
#include "trace/open/spool_import.h"

namespace tare::trace {

struct OpenedTrace::State {
  std::optional<TraceFile> file;
  TraceIndex index;
  std::vector<ImportedBlock> imported;
  std::vector<std::string> warnings;
  std::uint64_t event_count = 0;
  std::uint32_t thread_count = 0;
  bool complete = false;
};

OpenedTrace::OpenedTrace() = default;
OpenedTrace::OpenedTrace(std::unique_ptr<State> state) : state_(std::move(state)) {}
OpenedTrace::OpenedTrace(OpenedTrace&&) noexcept = default;
OpenedTrace& OpenedTrace::operator=(OpenedTrace&&) noexcept = default;
OpenedTrace::~OpenedTrace() = default;

const ProcessInfo& OpenedTrace::info() const { return state_->index.process.info; }
const Dictionary& OpenedTrace::dictionary() const { return state_->index.dictionary; }
const LiveSet& OpenedTrace::live_before() const { return state_->index.live; }
bool OpenedTrace::complete() const { return state_->complete; }
const std::vector<std::string>& OpenedTrace::warnings() const { return state_->warnings; }
const std::optional<Error>& OpenedTrace::damage() const { return state_->index.damage; }
std::span<const ClockPair> OpenedTrace::clock_pairs() const { return state_->index.clock_pairs; }
std::uint64_t OpenedTrace::event_count() const { return state_->event_count; }
std::uint32_t OpenedTrace::thread_count() const { return state_->thread_count; }

Status OpenedTrace::replay_into(EventSink& sink, const ReplayProgress& progress) const {
  std::uint64_t offset = 0;
  const auto read_block = [&](std::size_t block, EventBlockDecoder& decoder, EventBuffer& out) -> Status {
    const std::size_t in_file = state_->index.blocks.size();
    if (block < in_file) {
      offset = state_->index.blocks[block].offset;
      return state_->file->read_block(state_->index.blocks[block], state_->index.dictionary, decoder, out);
    }
    const char* damage = decoder.decode(state_->imported[block - in_file].payload, state_->index.dictionary, out);
    if (damage != nullptr) return Error{ErrorKind::Internal, std::string("a block made from the spool: ") + damage};
    return ok();
  };
  // A few hundred bytes are a hundred thousand blocks, each of which may lie where a table is needed for it, or on a
  // thread of its own. The sink decides how events are processed; the sum is visible from outside.
  ResidentGrowth growth;
  const std::uint64_t most_bytes = most_resident_growth(state_->file ? state_->file->file_bytes() : ~std::uint64_t{0});
  const bool is_limited = !files_are_trusted();
  BlockMerger merger(read_block, [&]() -> Status {
    if (!is_limited || growth.bytes() <= most_bytes) return ok();
    return Error{ErrorKind::Corrupt, state_->file->path() + ": at offset " + std::to_string(offset) +
                                         " its events had taken " + std::to_string(most_bytes >> 20) +
                                         " MiB of memory, more than a file of its size may" + how_to_trust()};
  });
  for (const BlockRef& block : state_->index.blocks) merger.add(block.header);
  for (const ImportedBlock& block : state_->imported) merger.add(block.header);
  if (Status status = merger.run(sink, progress); !status) return status;
  if (state_->index.damage) return *state_->index.damage;
  return ok();
}

Status OpenedTrace::read_moments(const std::function<void(Moment)>& take) const {
  std::vector<Moment> moments;  // the last is complete when another begins
  if (!state_->file) return ok();
  ExpansionBudget budget = ExpansionBudget::of_file(state_->file->file_bytes());
  const auto hand_out = [&] {
    for (Moment& moment : moments) take(std::move(moment));
    moments.clear();
  };
  for (const RecordRef& record : state_->index.moments) {
    const Status read = state_->file->read_moment(record, state_->index.dictionary, budget, moments);
    if (!read) {
      hand_out();
      return read;
    }
    if (moments.size() < 2) continue;
    take(std::move(moments.front()));
    moments.erase(moments.begin());
  }
  hand_out();
  return ok();
}

namespace {

void count(OpenedTrace::State& state) {
  const auto add = [&](const BlockHeader& header) {
    state.event_count += header.event_count;
    state.thread_count = std::max(state.thread_count, header.thread + 1);
  };
  for (const BlockRef& block : state.index.blocks) add(block.header);
  for (const ImportedBlock& block : state.imported) add(block.header);
}

void add_import(OpenedTrace::State& state, SpoolImport import) {
  state.imported = std::move(import.blocks);
  for (const ClockPair& pair : import.clock_pairs) state.index.clock_pairs.push_back(pair);
  for (std::string& warning : import.warnings) state.warnings.push_back(std::move(warning));
}

// True: the rest of an unfinished trace was found in its spool, or isn't lost yet.
bool join_spool(OpenedTrace::State& state, const std::string& path) {
  const std::string spool_path = find_spool(state.index.process);
  if (spool_path.empty()) return false;
  if (launcher_lives(spool_path)) {
    state.warnings.push_back(path + " is still being recorded; shown is what has been written so far");
    return true;
  }
  Result<SpoolImport> import = import_joined(spool_path, state.index);
  if (!import) {
    state.warnings.push_back(import.error().message);
    return false;
  }
  state.warnings.push_back("the launcher of " + path + " was killed; its last events were taken from " + spool_path +
                           ", which may be deleted only with the trace");
  add_import(state, std::move(*import));
  return true;
}

Result<OpenedTrace> open_spool(const std::string& path) {
  Result<SpoolFile> spool = SpoolFile::open(path);
  if (!spool) return spool.error();
  auto state = std::make_unique<OpenedTrace::State>();
  Result<ProcessInfo> info = spool->process();
  if (!info) return info.error();
  state->index.process.info = std::move(*info);
  state->index.dictionary.stacks.push_back({kEmptyStack, RowId{0}});
  Result<SpoolImport> import = import_spool(*spool, {}, state->index.dictionary);
  if (!import) return import.error();
  state->complete = (import->counts.flags & kSpoolEnded) != 0 && import->warnings.empty();
  if ((import->counts.flags & kSpoolEnded) == 0) {
    state->warnings.push_back(path +
                              ": the program was killed or still runs; everything up to its last event is shown");
  }
  add_import(*state, std::move(*import));
  count(*state);
  return OpenedTrace(std::move(state));
}

}  // namespace

Result<OpenedTrace> open_trace(const std::string& path) {
  if (SpoolFile::looks_like_spool(path)) return open_spool(path);
  Result<TraceFile> file = TraceFile::open(path);
  if (!file) return file.error();
  Result<TraceIndex> index = file->index();
  if (!index) return index.error();
  auto state = std::make_unique<OpenedTrace::State>();
  state->file.emplace(std::move(*file));
  state->index = std::move(*index);
  if (state->index.damage && state->index.blocks.empty()) return *state->index.damage;
  state->complete = state->index.ended && !state->index.damage;
  if (state->index.damage) {
    state->warnings.push_back(state->index.damage->message);
  } else if (!state->index.ended && !join_spool(*state, path)) {
    state->warnings.push_back(path + " has no end: the recording was cut short after " +
                              std::to_string(state->index.readable_bytes) + " bytes; what was written is shown");
  }
  std::stable_sort(state->index.clock_pairs.begin(), state->index.clock_pairs.end(),
                   [](const ClockPair& a, const ClockPair& b) { return a.stamp < b.stamp; });
  count(*state);
  return OpenedTrace(std::move(state));
}

}  // namespace tare::trace
