#include "allocator_replay/script/script_writer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "allocator_replay/script/output_file.h"
#include "allocator_replay/script/script_sink.h"

namespace tare::core {
namespace {

// Each script keeps about 100 bytes a live block. Fourteen scripts in one walk needed more memory than `replay_into`
// allows a recording of 9.8 MB.
constexpr std::size_t kScriptsAWalk = 4;

// Hands each event to several sinks, so that a trace is read once for several scripts. Events of several threads come
// a few at a time: sinks get them by the hundred, so that they can prefetch.
class AllSinks final : public trace::EventSink {
 public:
  explicit AllSinks(std::vector<std::unique_ptr<ScriptSink>>& sinks) : sinks_(sinks) { gathered_.reserve(kMost); }
  void consume(std::span<const trace::Event> events) override {
    while (!events.empty()) {
      const std::span<const trace::Event> fitting = events.first(std::min(events.size(), kMost - gathered_.size()));
      gathered_.insert(gathered_.end(), fitting.begin(), fitting.end());
      if (gathered_.size() == kMost) flush();
      events = events.subspan(fitting.size());
    }
  }
  // After the last event.
  void flush() {
    for (const auto& sink : sinks_) sink->consume(gathered_);
    gathered_.clear();
  }

 private:
  static constexpr std::size_t kMost = 512;

  std::vector<std::unique_ptr<ScriptSink>>& sinks_;
  std::vector<trace::Event> gathered_;
};

Status check(const trace::ProcessInfo& info) {
  if (info.sample_bytes == 0) return ok();
  if (!info.imported_from.empty()) {
    return Error{ErrorKind::Usage, "a recording that was imported from " + info.imported_from +
                                       " has sums instead of calls: record with tare run to perform them again"};
  }
  return Error{ErrorKind::Usage,
               "a sampled recording doesn't hold all calls: record without --sample to perform them again"};
}

// In one walk over the events.
Status write_batch(const trace::OpenedTrace& trace, std::span<const ScriptRequest> requests,
                   const trace::ReplayProgress& progress, std::vector<ScriptSummary>& summaries) {
  std::vector<std::unique_ptr<OutputFile>> files;
  std::vector<std::unique_ptr<ScriptSink>> sinks;
  for (const ScriptRequest& request : requests) {
    files.push_back(std::make_unique<OutputFile>(request.path));
    sinks.push_back(std::make_unique<ScriptSink>(trace, *files.back(), request.rules));
  }
  AllSinks all(sinks);
  if (const Status replayed = trace.replay_into(all, progress); !replayed) return replayed;
  all.flush();
  for (std::size_t i = 0; i < sinks.size(); ++i) {
    if (sinks[i]->is_too_long())
      return Error{ErrorKind::Usage, "the recording has more than 2^32 calls: record a shorter run"};
    ScriptSummary summary = sinks[i]->finish();
    if (const int error = files[i]->error_number(); error != 0) {
      return Error{ErrorKind::Io, requests[i].path + ": can't write the calls to perform: " + std::strerror(error) +
                                      "; they take 16 bytes each (TMPDIR chooses another place)"};
    }
    if (summary.steps == 0) return Error{ErrorKind::Usage, "the recording has no calls to perform"};
    summary.process = trace.info();
    summaries.push_back(std::move(summary));
  }
  return ok();
}

}  // namespace

Result<std::vector<ScriptSummary>> write_call_scripts(const trace::OpenedTrace& trace,
                                                      std::span<const ScriptRequest> requests,
                                                      const trace::ReplayProgress& progress) {
  if (const Status status = check(trace.info()); !status) return status.error();
  const std::size_t batches = (requests.size() + kScriptsAWalk - 1) / kScriptsAWalk;
  std::vector<ScriptSummary> summaries;
  for (std::size_t batch = 0; batch < batches; ++batch) {
    const auto rest = requests.subspan(batch * kScriptsAWalk);
    const trace::ReplayProgress of_all = [&](std::uint64_t done, std::uint64_t total) {
      if (progress) progress(batch * total + done, batches * total);
    };
    const Status written = write_batch(trace, rest.first(std::min(rest.size(), kScriptsAWalk)), of_all, summaries);
    if (!written) return written.error();
  }
  return summaries;
}

Result<ScriptSummary> write_call_script(const trace::OpenedTrace& trace, const std::string& path,
                                        const trace::ReplayProgress& progress) {
  const ScriptRequest request{path, {}};
  auto written = write_call_scripts(trace, {&request, 1}, progress);
  if (!written) return written.error();
  return std::move(written->front());
}

}  // namespace tare::core
