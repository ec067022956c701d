// A watch rests while a launcher records its process exactly, and goes on when the launcher has detached.
// SPDX-License-Identifier: Apache-2.0
#include "recorder/watch/resting.h"

#include <cstring>

#include "recorder/base/stamp.h"
#include "recorder/base/syscall.h"
#include "recorder/base/text.h"
#include "recorder/events/sampling.h"
#include "recorder/recorder.h"
#include "recorder/watch/watch.h"

namespace tare::recorder {

bool Watch::resume() {
  const sys::SignalsBlocked blocked;
  if (!lock_.lock()) return false;
  const bool rested = totals_.stop == static_cast<std::uint32_t>(trace::WatchStop::Resting);
  if (rested) {
    totals_.stop = 0;
    write_totals();
  }
  lock_.unlock();
  return rested;
}

void Watch::apply_resting(const std::uint64_t* event) {
  if (!lock_.lock()) return;
  begin_change();
  apply_event(event, 0, trace::kWatchResting);
  end_change();
  lock_.unlock();
}

void Watch::end_resting(std::uint64_t address, std::uint64_t before) {
  const sys::SignalsBlocked blocked;
  if (!lock_.lock()) return;
  begin_change();
  end(address, before);
  end_change();
  lock_.unlock();
}

void note_birth_beside_watch(const Block& block) {
  Block sample = block;
  sample.weight = sampler.decide(this_thread->sampling, Sampler::octave(block.usable));
  if (sample.weight == 0 || !sampler.sampled.insert(block.address, sampler.newest_odds())) return;
  std::uint64_t event[6];
  std::uint64_t word0 = static_cast<std::uint64_t>(trace::Op::Alloc);
  put_block(event, sample, word0);
  event[0] = word0;
  const sys::SignalsBlocked blocked;
  watch.apply_resting(event);
}

void note_end_beside_watch(std::uint64_t address) {
  if (sampler.sampled.remove(address)) watch.end_resting(address, stamp_after_loads());
}

ReallocBesideWatch::ReallocBesideWatch(std::uint64_t old)
    : old_(old), before_(stamp_after_loads()), was_sampled_(sampler.sampled.remove(old)) {}

void ReallocBesideWatch::failed() const {
  if (was_sampled_) sampler.sampled.insert(old_, sampler.newest_odds());
}

void ReallocBesideWatch::done() const {
  if (was_sampled_) watch.end_resting(old_, before_);
}

// Called when a launcher's orders are followed. The spool stays mapped. The watch rests before it isn't `watching` any
// more: see ends_beside_watch().
void Recorder::rest_watch(Spool& spool) {
  watch.rest();
  resting_spool_.store(&spool, std::memory_order_release);
  watching_.store(false, std::memory_order_release);
}

// The process has no watch any more. Its file stays as it is.
void Recorder::give_up_watch() {
  if (resting_spool_.exchange(nullptr, std::memory_order_acq_rel) != nullptr) watch.stop(trace::WatchStop::Recorded);
}

bool Recorder::resume_watch() {
  Phase recording = Phase::Recording;
  if (!phase_.compare_exchange_strong(recording, Phase::Starting, std::memory_order_acq_rel)) return false;
  const sys::SignalsBlocked blocked;
  Spool* const rested = resting_spool_.load(std::memory_order_acquire);
  const auto go_back = [&] {
    phase_.store(Phase::Recording, std::memory_order_release);
    return false;
  };
  if (!detached() || borrows_memory()) return go_back();
  if (rested == nullptr) {
    if (!watching() || alive()) return go_back();
    return wake_watch(true);  // the launcher detached before the process made an event
  }
  if (!is_quiet() || !lock_.lock()) return go_back();
  lock_.unlock();
  restart_since_ns_ = 0;
  // The exact recording's tables began as a copy of the watch's.
  if (watch.stopped() != trace::WatchStop::Resting || !copy_tables(*spool_, *rested)) {
    give_up_watch();
    return go_back();
  }
  *wiped_page_ = 0;  // events are lost until it is written again; the ends of samples are noted meanwhile
  leave_recording();
  contents_.store(false, std::memory_order_release);
  spool_ = rested;
  launched_ = free_stacks_ = wants_contents_ = false;
  sample_bytes_ = sampler.mean_bytes();
  const char* const path = rested->path();
  Text(directory_, sizeof(directory_)).add_bytes(path, static_cast<std::uint64_t>(std::strrchr(path, '/') - path));
  attach_tables(spool_->tables());
  watching_.store(true, std::memory_order_relaxed);
  const bool goes_on = watch.resume();
  choose_hooks();
  const bool is_awake = wake_watch(goes_on);
  resting_spool_.store(nullptr, std::memory_order_release);
  return is_awake;
}

// The hooks are on from here, if the watch goes on.
bool Recorder::wake_watch(bool goes_on) {
  // A launcher may write its orders, and this word, at any time: then the wish isn't Detached any more.
  trace::RecorderWish detached = trace::RecorderWish::Detached;
  const bool is_free =
      rendezvous.wish.compare_exchange_strong(detached, trace::RecorderWish::None, std::memory_order_acq_rel);
  phase_.store(Phase::Recording, std::memory_order_release);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (is_free && goes_on) *wiped_page_ = alive_word();
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (has_new_orders()) *wiped_page_ = 0;
  return alive();
}

}  // namespace tare::recorder
