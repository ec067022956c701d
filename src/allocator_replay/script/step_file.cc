#include "allocator_replay/script/step_file.h"

#include <algorithm>
#include <cstddef>

namespace tare::core {
namespace {

constexpr std::uint32_t kMainThread = 0;

}  // namespace

StepFile::StepFile(OutputFile& file) : file_(file) {
  const ScriptHeader nothing_yet{};
  file_.append(&nothing_yet, sizeof nothing_yet);
  thread_index(kMainThread);  // the first thread, even without allocations
}

StepFile::Place StepFile::add(std::uint32_t thread_id, std::uint64_t now_ns, std::uint64_t what, std::uint32_t slot) {
  if (needs_time()) {
    if (times_ns_.empty()) first_ns_ = now_ns;
    times_ns_.push_back(now_ns - first_ns_);
  }
  const std::uint32_t thread = thread_index(thread_id);
  ThreadSteps& steps = threads_[thread];
  const auto order = static_cast<std::uint32_t>(order_++);
  if (steps.count == 0) steps.first_order = order;
  if (steps.open_chunk.size() == kChunkSteps) close_chunk(steps);
  steps.open_chunk.push_back({what, slot, order});
  return {steps.count++, thread};
}

void StepFile::patch(Place place, std::uint64_t what) {
  ThreadSteps& steps = threads_[place.thread];
  const std::uint64_t chunk = place.step / kChunkSteps;
  const std::uint64_t within = place.step % kChunkSteps;
  if (chunk < steps.chunks.size()) {
    file_.put(&what, sizeof what, steps.chunks[chunk] + within * sizeof(Step) + offsetof(Step, what));
  } else {
    steps.open_chunk[within].what = what;
  }
}

std::uint32_t StepFile::take_slot() {
  if (free_slots_.empty() || order_ - free_slots_.front().since_order <= kWindowSteps) return slot_count_++;
  const std::uint32_t slot = free_slots_.front().slot;
  free_slots_.pop_front();
  return slot;
}

void StepFile::finish(std::uint64_t peak_order, std::uint64_t peak_requested_bytes) {
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
  header.slot_count = std::max<std::uint64_t>(slot_count_, 1);  // avoided calls name slot 0
  header.peak_order = peak_order;
  header.peak_requested_bytes = peak_requested_bytes;
  header.thread_count = threads.size();
  header.threads_offset = file_.append(threads.data(), threads.size() * sizeof threads[0]);
  header.chunk_count = chunks.size();
  header.chunks_offset = file_.append(chunks.data(), chunks.size() * sizeof chunks[0]);
  header.time_count = times_ns_.size();
  header.times_offset = file_.append(times_ns_.data(), times_ns_.size() * sizeof times_ns_[0]);
  file_.put(&header, sizeof header, 0);
}

std::uint32_t StepFile::thread_index(std::uint32_t id) {
  if (id == last_id_ && !threads_.empty()) [[likely]]
    return last_index_;
  const auto [found, is_new] = index_of_thread_.try_emplace(id, static_cast<std::uint32_t>(threads_.size()));
  if (is_new) threads_.emplace_back();
  last_id_ = id;
  return last_index_ = found->second;
}

void StepFile::close_chunk(ThreadSteps& steps) {
  if (steps.open_chunk.empty()) return;
  steps.chunks.push_back(file_.append(steps.open_chunk.data(), steps.open_chunk.size() * sizeof(Step)));
  steps.open_chunk.clear();
}

}  // namespace tare::core
