// Keeps the budget: see sampling_budget.h.
// SPDX-License-Identifier: Apache-2.0
#include "recorder/limits/sampling_budget.h"

#include "recorder/base/stamp.h"
#include "recorder/base/syscall.h"
#include "recorder/events/sampling.h"
#include "recorder/recorder.h"

namespace tare::recorder {

constinit SamplingBudget sampling_budget;

namespace {

std::uint64_t spool_bytes(const Spool& spool) {
  const trace::SpoolHeader& header = *spool.header();
  std::uint64_t sum = header.string_bytes.load(std::memory_order_relaxed) +
                      header.row_count.load(std::memory_order_relaxed) * sizeof(trace::Row) +
                      header.module_count.load(std::memory_order_relaxed) * sizeof(trace::ModuleEntry);
  const std::uint32_t chunks = header.chunk_count.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < chunks; ++i) sum += spool.control(i).real_bytes;
  return sum;
}

}  // namespace

void SamplingBudget::begin(const trace::LauncherControl* control, Spool& spool, bool is_child) {
  control_.store(nullptr, std::memory_order_release);
  is_looking_.store(false, std::memory_order_relaxed);
  const bool has_limits = control != nullptr && control->has_budget != 0;
  if (!has_limits) return;
  spool_ = &spool;
  looks_ = 0;
  own_use_.begin();
  cpu_limit_.begin(control->cpu_share);
  memory_limit_.begin(control->memory_bytes, 0);
  if (!is_child) stopped_by_ = trace::SamplingLimit::None;
  trace::SpoolHeader& header = *spool.header();
  header.flags.fetch_or(trace::kSpoolBudget, std::memory_order_relaxed);
  header.doublings.store(sampler.doublings(), std::memory_order_relaxed);
  if (stopped_by_ != trace::SamplingLimit::None) {
    header.stopped_at_ns.store(stopped_at_ns_, std::memory_order_relaxed);
    header.stopped_by.store(static_cast<std::uint32_t>(stopped_by_), std::memory_order_release);
  }
  widen_for_disk(*control);
  control_.store(control, std::memory_order_release);
}

// One at a time: another thread's look is as good.
void SamplingBudget::look() {
  const sys::SignalsBlocked blocked;
  if (is_looking_.exchange(true, std::memory_order_acquire)) return;
  const trace::LauncherControl* const control = control_.load(std::memory_order_acquire);
  // The CPU time of a vfork child isn't that of the memory's owner.
  if (control != nullptr && !sampler.is_stopped() && !recorder.borrows_memory()) keep_limits(*control);
  is_looking_.store(false, std::memory_order_release);
}

void SamplingBudget::keep_limits(const trace::LauncherControl& control) {
  widen_for_disk(control);
  const CpuUse now = own_use_.cpu();
  spool_->header()->recorder_cpu_ns.store(static_cast<std::uint64_t>(now.own), std::memory_order_relaxed);
  spool_->header()->process_cpu_ns.store(static_cast<std::uint64_t>(now.process), std::memory_order_relaxed);
  widen(cpu_limit_.doublings(now), trace::SamplingLimit::Cpu);
  own_use_.set_usual_call(cpu_limit_.usual_ns() / kEventsOfLook);
  if (control.memory_bytes != 0 && looks_++ % kLooksOfMemory == 0) keep_memory();
}

void SamplingBudget::widen(int times, trace::SamplingLimit limit) {
  for (; times > 0; --times) {
    if (!sampler.widen()) return stop(limit);
    spool_->header()->doublings.store(sampler.doublings(), std::memory_order_relaxed);
  }
}

void SamplingBudget::widen_for_disk(const trace::LauncherControl& control) {
  if (control.disk_is_full.load(std::memory_order_relaxed) != 0) return stop(trace::SamplingLimit::Disk);
  const std::uint32_t wanted = control.doublings.load(std::memory_order_relaxed);
  const std::uint32_t now = sampler.doublings();
  if (wanted > now) widen(static_cast<int>(wanted - now), trace::SamplingLimit::Disk);
}

void SamplingBudget::keep_memory() {
  switch (memory_limit_.look(OwnUse::resident_bytes() + spool_bytes(*spool_))) {
    case RoomLimit::Verdict::Kept:
      return;
    case RoomLimit::Verdict::Widen:
      return widen(1, trace::SamplingLimit::Memory);
    case RoomLimit::Verdict::Exceeded:
      return stop(trace::SamplingLimit::Memory);
  }
}

// The samples that live go on being recorded until their ends.
void SamplingBudget::stop(trace::SamplingLimit limit) {
  if (sampler.is_stopped()) return;
  sampler.stop();
  stopped_by_ = limit;
  stopped_at_ns_ = monotonic_ns();
  trace::SpoolHeader& header = *spool_->header();
  header.stopped_at_ns.store(stopped_at_ns_, std::memory_order_relaxed);
  header.stopped_by.store(static_cast<std::uint32_t>(limit), std::memory_order_release);
}

}  // namespace tare::recorder
