// Writes call scripts: one walk over the events, each block's address exchanged for a slot.
#include "allocator_replay/script/script_writer.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <limits>
#include <unordered_map>
#include <vector>

#include "allocator_replay/script/call_script.h"
#include "allocator_replay/script/output_file.h"

namespace tare::core {
namespace {

using trace::Event;
using trace::EventKind;
using trace::index;

// Below, whatever was written lies on a page that is touched anyway.
constexpr std::uint64_t kTellsPagesBytes = 4096;
constexpr std::uint32_t kMainThread = 0;

// A thread's steps; the chunks that are full lie in the file.
struct ThreadSteps {
  std::vector<Step> open_chunk;
  std::vector<std::uint64_t> chunks;  // where they lie
  std::uint64_t count = 0;
  std::uint32_t first_order = 0;
  bool in_realloc = false;  // its second half is to come
};

// Where a live block's birth is told, so that what was written of it can be added when it's known.
struct LiveBlock {
  std::uint64_t bytes;
  std::uint64_t what;
  std::uint64_t step;  // within the thread
  std::uint32_t thread;
  std::uint32_t slot;
};

struct FreeSlot {
  std::uint32_t slot;
  std::uint64_t since_order;
};

class ScriptSink final : public trace::EventSink {
 public:
  ScriptSink(const trace::OpenedTrace& trace, OutputFile& file)
      : dictionary_(trace.dictionary()), clock_(trace.clock_pairs()), file_(file) {
    const ScriptHeader nothing_yet{};
    file_.append(&nothing_yet, sizeof nothing_yet);
    thread(kMainThread);  // first, whether it allocates or not
  }

  void consume(std::span<const Event> events) override {
    for (const Event& event : events) take(event);
  }

  bool is_too_long() const { return order_ > std::numeric_limits<std::uint32_t>::max(); }

  ScriptSummary finish() {
    std::vector<ScriptThread> threads;
    std::vector<std::uint64_t> chunks;
    for (ThreadSteps& steps : threads_) {
      close_chunk(steps);
      threads.push_back({chunks.size(), steps.count, steps.first_order, 0});
      chunks.insert(chunks.end(), steps.chunks.begin(), steps.chunks.end());
    }
    ScriptHeader header{};
    header.magic = kScriptMagic;
    header.step_count = order_;
    header.slot_count = slot_count_;
    header.peak_order = peak_order_;
    header.peak_requested_bytes = summary_.peak_requested_bytes;
    header.thread_count = threads.size();
    header.threads_offset = file_.append(threads.data(), threads.size() * sizeof threads[0]);
    header.chunk_count = chunks.size();
    header.chunks_offset = file_.append(chunks.data(), chunks.size() * sizeof chunks[0]);
    header.time_count = times_ns_.size();
    header.times_offset = file_.append(times_ns_.data(), times_ns_.size() * sizeof times_ns_[0]);
    file_.put(&header, sizeof header, 0);
    summary_.steps = order_;
    summary_.threads = threads.size();
    summary_.slots = slot_count_;
    summary_.duration_ns = times_ns_.empty() ? 0 : times_ns_.back();
    return summary_;
  }

 private:
  using LiveBlocks = std::unordered_map<std::uint64_t, LiveBlock>;

  void take(const Event& event) {
    switch (event.kind) {
      case EventKind::Alloc:
        born(event, kind_of(event));
        break;
      case EventKind::Free:
        ended(event, StepKind::Free);
        break;
      case EventKind::ReallocEnd:
        thread(event.thread).in_realloc = ended(event, StepKind::ReallocFrom);
        break;
      case EventKind::ReallocStart: {
        bool& in_realloc = thread(event.thread).in_realloc;
        born(event, in_realloc ? StepKind::ReallocTo : StepKind::Malloc);
        in_realloc = false;
        break;
      }
      case EventKind::Contents:
        if (const auto block = live_.find(event.address); block != live_.end())
          set_written(block->second, index(event.shape));
        break;
      default:
        break;
    }
  }

  StepKind kind_of(const Event& event) const {
    const trace::Shape& shape = dictionary_.shapes[index(event.shape)];
    if (shape.api == trace::AllocApi::Calloc) return StepKind::Calloc;
    return shape.align_log2 != 0 ? StepKind::Aligned : StepKind::Malloc;
  }

  void born(const Event& event, StepKind kind) {
    const trace::Shape& shape = dictionary_.shapes[index(event.shape)];
    if (const auto before = live_.find(event.address); before != live_.end()) {
      // Its death was lost. It's freed here, unless between the halves of a realloc: then its slot stays taken.
      ++summary_.reborn_blocks;
      if (kind != StepKind::ReallocTo) {
        add(event, Step::pack(StepKind::Free, 0), before->second.slot);
        give_back(before->second.slot);
      }
      forget(before);
    }
    const std::uint32_t slot = take_slot();
    const std::uint64_t bytes = std::min(shape.requested_bytes, Step::kMostBytes);
    const std::uint64_t what = Step::pack(kind, bytes, kind == StepKind::Aligned ? shape.align_log2 : 0);
    const std::uint64_t step = add(event, what, slot);
    live_[event.address] = {bytes, what, step, thread_index(event.thread), slot};
    live_bytes_ += bytes;
    if (live_bytes_ > summary_.peak_requested_bytes) {
      summary_.peak_requested_bytes = live_bytes_;
      peak_order_ = order_;
    }
  }

  bool ended(const Event& event, StepKind kind) {
    const auto block = live_.find(event.address);
    if (block == live_.end()) {
      ++summary_.foreign_frees;
      return false;
    }
    add(event, Step::pack(kind, block->second.bytes), block->second.slot);
    give_back(block->second.slot);
    forget(block);
    return true;
  }

  void give_back(std::uint32_t slot) { free_slots_.push_back({slot, order_}); }

  std::uint32_t take_slot() {
    if (free_slots_.empty() || order_ - free_slots_.front().since_order <= kWindowSteps) return slot_count_++;
    const std::uint32_t slot = free_slots_.front().slot;
    free_slots_.pop_front();
    return slot;
  }

  void forget(LiveBlocks::iterator block) {
    live_bytes_ -= block->second.bytes;
    live_.erase(block);
  }

  // Gives the step's number within its thread.
  std::uint64_t add(const Event& event, std::uint64_t what, std::uint32_t slot) {
    if (order_ % kTimedSteps == 0) {
      const std::uint64_t now_ns = clock_.ns(event.stamp);
      if (times_ns_.empty()) first_ns_ = now_ns;
      times_ns_.push_back(now_ns - first_ns_);
    }
    ThreadSteps& steps = thread(event.thread);
    const auto order = static_cast<std::uint32_t>(order_++);
    if (steps.count == 0) steps.first_order = order;
    if (steps.open_chunk.size() == kChunkSteps) close_chunk(steps);
    steps.open_chunk.push_back({what, slot, order});
    return steps.count++;
  }

  void close_chunk(ThreadSteps& steps) {
    if (steps.open_chunk.empty()) return;
    steps.chunks.push_back(file_.append(steps.open_chunk.data(), steps.open_chunk.size() * sizeof(Step)));
    steps.open_chunk.clear();
  }

  void set_written(const LiveBlock& block, std::uint64_t unwritten_bytes) {
    if (block.bytes <= kTellsPagesBytes) return;
    const std::uint64_t written = block.bytes - std::min(block.bytes, unwritten_bytes);
    const std::uint64_t what = Step::with_share(block.what, Step::share_of(written, block.bytes));
    ThreadSteps& steps = threads_[block.thread];
    const std::uint64_t chunk = block.step / kChunkSteps;
    const std::uint64_t within = block.step % kChunkSteps;
    if (chunk < steps.chunks.size()) {
      file_.put(&what, sizeof what, steps.chunks[chunk] + within * sizeof(Step) + offsetof(Step, what));
    } else {
      steps.open_chunk[within].what = what;
    }
  }

  std::uint32_t thread_index(std::uint32_t id) {
    const auto [found, is_new] = index_of_thread_.try_emplace(id, static_cast<std::uint32_t>(threads_.size()));
    if (is_new) threads_.emplace_back();
    return found->second;
  }
  ThreadSteps& thread(std::uint32_t id) { return threads_[thread_index(id)]; }

  const trace::Dictionary& dictionary_;
  const trace::Clock clock_;
  OutputFile& file_;
  ScriptSummary summary_;
  std::vector<ThreadSteps> threads_;
  std::unordered_map<std::uint32_t, std::uint32_t> index_of_thread_;
  LiveBlocks live_;
  std::deque<FreeSlot> free_slots_;
  std::vector<std::uint64_t> times_ns_;
  std::uint64_t first_ns_ = 0;
  std::uint64_t order_ = 0;
  std::uint64_t live_bytes_ = 0;
  std::uint64_t peak_order_ = 0;
  std::uint32_t slot_count_ = 0;
};

}  // namespace

Result<ScriptSummary> write_call_script(const trace::OpenedTrace& trace, const std::string& path,
                                        const trace::ReplayProgress& progress) {
  if (trace.info().sample_bytes != 0 && !trace.info().imported_from.empty()) {
    return Error{ErrorKind::Usage, "a recording that was imported from " + trace.info().imported_from +
                                       " has sums instead of calls: record with tare run to perform them again"};
  }
  if (trace.info().sample_bytes != 0) {
    return Error{ErrorKind::Usage,
                 "a sampled recording doesn't hold all calls: record without --sample to perform them again"};
  }
  OutputFile file(path);
  ScriptSink sink(trace, file);
  const Status replayed = trace.replay_into(sink, progress);
  if (!replayed) return replayed.error();
  if (sink.is_too_long())
    return Error{ErrorKind::Usage, "the recording has more than 2^32 calls: record a shorter run"};
  ScriptSummary summary = sink.finish();
  if (file.error_number() != 0) {
    return Error{ErrorKind::Io, path + ": can't write the calls to perform: " + std::strerror(file.error_number()) +
                                    "; they take 16 bytes each (TMPDIR chooses another place)"};
  }
  if (summary.steps == 0) return Error{ErrorKind::Usage, "the recording has no calls to perform"};
  summary.process = trace.info();
  return summary;
}

}  // namespace tare::core
