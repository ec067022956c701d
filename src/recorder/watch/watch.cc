// Applies events to the watch file: see watch.h.
// SPDX-License-Identifier: Apache-2.0
#include "recorder/watch/watch.h"

#include <cstring>

#include "recorder/base/stamp.h"
#include "recorder/base/syscall.h"
#include "recorder/events/sampling.h"
#include "recorder/process/process_facts.h"
#include "recorder/unwind/own_memory.h"
#include "recorder/unwind/unwind.h"
#include "trace/spool/spool_event.h"
#include "trace/spool/spool_event_size.h"

namespace tare::recorder {

constinit Watch watch;

namespace {

// Of an event that isn't stamped.
constexpr std::uint64_t kUnstamped = ~std::uint64_t{0};

}  // namespace

// A new block of an Alloc or a Realloc.
struct Watch::BlockEvent {
  trace::WatchSample sample;
  std::uint64_t before = kUnstamped;  // Realloc: the stamp of the old block's end
  std::uint64_t old = 0;              // Realloc
  const std::uint32_t* rows = nullptr;
  std::uint32_t row_count = 0;

  explicit BlockEvent(const std::uint64_t* event);
};

Watch::BlockEvent::BlockEvent(const std::uint64_t* event) : sample{} {
  using trace::W0;
  using trace::W1;
  const std::uint64_t word0 = event[0];
  const std::uint64_t word1 = event[1];
  const bool is_realloc = trace::op_of(word0) == trace::Op::Realloc;
  sample.address = word1 & W1::kAddressMask;
  sample.requested = event[2];
  sample.traits = static_cast<std::uint32_t>(word1 >> W1::kApiShift & W1::kApiMask) |
                  static_cast<std::uint32_t>(word1 >> W1::kAlignShift & W1::kAlignMask) << trace::kWatchAlignShift;
  const std::uint64_t* at = event + 3;
  sample.usable = (word0 & W0::kUsableWord) != 0 ? *at++ : sample.requested + (word0 >> W0::kSlopShift & W0::kSlopMask);
  sample.weight = (word1 & W1::kWeighted) != 0 ? __builtin_bit_cast(double, *at++) : 1;
  if ((word0 & W0::kStamped) != 0) {
    if (is_realloc) before = *at++;
    sample.stamp = *at++;
  } else {
    sample.stamp = stamp();
  }
  if (is_realloc) old = *at++;
  rows = reinterpret_cast<const std::uint32_t*>(at);
  row_count = static_cast<std::uint32_t>(word0 >> W0::kFreshShift & W0::kCountMask);
}

bool Watch::begin(Spool& spool, Spool* parent) {
  if (memory_ == nullptr) memory_ = static_cast<Memory*>(reserve_zeroed(sizeof(Memory)));
  if (memory_ == nullptr) return false;
  spool_ = &spool;
  state_ = reinterpret_cast<trace::WatchState*>(spool.base(WatchArea::State));
  file_samples_ = reinterpret_cast<trace::WatchSample*>(spool.base(WatchArea::Samples));
  file_sums_ = reinterpret_cast<trace::WatchSum*>(spool.base(WatchArea::Sums));
  state_->process_start_ticks = start_ticks();
  const std::uint32_t length = read_text("/proc/sys/kernel/random/boot_id", state_->boot_id, sizeof(state_->boot_id));
  if (length > 0 && state_->boot_id[length - 1] == '\n') state_->boot_id[length - 1] = '\0';
  state_->first_sample_bytes = sampler.mean_bytes();
  const trace::WatchTotals before = totals_;
  totals_ = {};
  totals_.sums = 1;
  random_ = stamp() | 1;
  begin_budget();
  if (!spool.ensure(WatchArea::Sums, sizeof(trace::WatchSum))) return false;
  if (parent == nullptr) {
    free_count_ = 0;
    memory_->index.clear();
    if (!stacks_.begin(spool)) return false;
  } else {
    totals_.sample_slots = before.sample_slots;
    totals_.lost_stacks = before.lost_stacks;
    if (!stacks_.take_over(spool, *parent) || !inherit()) return false;
  }
  write_totals();
  return true;
}

// The parent's samples of the moment of the fork. Another thread may have been changing one of them: its check word is
// wrong then.
bool Watch::inherit() {
  std::memset(memory_->sum_of, 0, (stacks_.count() + 1) * sizeof(memory_->sum_of[0]));
  memory_->index.clear();
  free_count_ = 0;
  if (!spool_->ensure(WatchArea::Samples, totals_.sample_slots * sizeof(trace::WatchSample))) return false;
  for (std::uint32_t slot = 0; slot < totals_.sample_slots; ++slot) {
    trace::WatchSample& sample = memory_->samples[slot];
    if (sample.address == 0 || sample.check != watch_check(sample) || sample.node > stacks_.count()) {
      sample.address = 0;
      memory_->free_slots[free_count_++] = static_cast<std::uint16_t>(slot);
      continue;
    }
    sample.traits |= trace::kWatchInherited;
    memory_->index.insert(sample.address, slot);
    ++totals_.live_samples;
    ++totals_.inherited;
    publish(slot);
  }
  return true;
}

double Watch::luck() {  // xorshift64*, in (0, 1)
  random_ ^= random_ >> 12;
  random_ ^= random_ << 25;
  random_ ^= random_ >> 27;
  return (static_cast<double>(random_ * 0x2545f4914f6cdd1d >> 11) + 0.5) * 0x1p-53;
}

// The check word comes last: a reader, and a file whose process was killed in between, have the sample or don't.
void Watch::publish(std::uint32_t slot) {
  trace::WatchSample& sample = memory_->samples[slot];
  sample.check = 0;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  const std::uint32_t check = watch_check(sample);
  trace::WatchSample& copy = file_samples_[slot];
  __atomic_store_n(&copy.check, 0, __ATOMIC_RELAXED);
  std::atomic_thread_fence(std::memory_order_release);
  std::memcpy(&copy, &sample, offsetof(trace::WatchSample, check));
  __atomic_store_n(&copy.check, check, __ATOMIC_RELEASE);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  sample.check = check;
}

void Watch::drop(std::uint32_t slot) {
  trace::WatchSample& sample = memory_->samples[slot];
  memory_->index.remove(memory_->samples, slot);
  __atomic_store_n(&file_samples_[slot].check, 0, __ATOMIC_RELAXED);
  std::atomic_thread_fence(std::memory_order_release);
  __atomic_store_n(&file_samples_[slot].address, 0, __ATOMIC_RELAXED);
  sample.check = 0;
  sample.address = 0;
  memory_->free_slots[free_count_++] = static_cast<std::uint16_t>(slot);
  --totals_.live_samples;
  if ((sample.traits & trace::kWatchInherited) != 0) --totals_.inherited;
}

bool Watch::has_slot() {
  if (free_count_ > 0) return true;
  if (totals_.sample_slots == trace::kWatchMaxSamples) return false;
  return spool_->ensure(WatchArea::Samples, (totals_.sample_slots + 1) * sizeof(trace::WatchSample));
}

std::uint32_t Watch::take_slot() {
  if (free_count_ > 0) return memory_->free_slots[--free_count_];
  return totals_.sample_slots++;
}

// Makes room: samples go until there are three quarters of the most. A file that may not grow has no more than it has.
void Watch::widen() {
  const std::uint64_t most = spool_->has_reached_limit() ? totals_.sample_slots : trace::kWatchMaxSamples;
  while (totals_.live_samples > most / 4 * 3 && widen_once()) {
  }
}

bool Watch::widen_once() {
  if (!sampler.widen()) return false;
  ++totals_.widened;
  thin_all();
  return true;
}

void Watch::thin_all() {
  for (std::uint32_t slot = 0; slot < totals_.sample_slots; ++slot) {
    trace::WatchSample& sample = memory_->samples[slot];
    if (sample.address == 0) continue;
    const double weight = sampler.thin(sample.weight, Sampler::octave(sample.usable), luck());
    if (weight == sample.weight) continue;
    if (weight != 0) {
      sample.weight = weight;
      publish(slot);
    } else {
      sampler.sampled.remove(sample.address);
      drop(slot);
    }
  }
}

trace::WatchSum& Watch::sum(std::uint32_t node) {
  if (node == 0) return file_sums_[0];
  std::uint16_t& number = memory_->sum_of[node - 1];
  if (number == 0 && totals_.sums < trace::kWatchMaxSums &&
      spool_->ensure(WatchArea::Sums, (totals_.sums + 1) * sizeof(trace::WatchSum))) {
    number = static_cast<std::uint16_t>(totals_.sums++);
    file_sums_[number].node = node;
  }
  return file_sums_[number];
}

void Watch::count_freed(std::uint32_t node, double bytes, double weight) {
  trace::WatchSum& of_stack = sum(node);
  of_stack.freed_bytes += bytes;
  of_stack.freed_blocks += weight;
  ++of_stack.freed_samples;
  totals_.freed_bytes += bytes;
  totals_.freed_blocks += weight;
  ++totals_.freed_samples;
}

// `before`: a younger block at the address is another thread's, which got the memory while realloc was under way.
void Watch::end(std::uint64_t address, std::uint64_t before) {
  const std::uint32_t slot = memory_->index.find(memory_->samples, address);
  if (slot == SampleIndex::kNone) return;
  const trace::WatchSample& sample = memory_->samples[slot];
  if (before != kUnstamped && sample.stamp > before) return;
  // The parent's blocks aren't among the child's allocations.
  if ((sample.traits & trace::kWatchInherited) == 0) {
    count_freed(sample.node, static_cast<double>(sample.usable) * sample.weight, sample.weight);
  }
  drop(slot);
}

void Watch::add(const BlockEvent& event, std::uint32_t thread) {
  trace::WatchSample sample = event.sample;
  bool is_cut = false;
  sample.node = stacks_.intern(event.rows, event.row_count, is_cut);
  if (is_cut) ++totals_.lost_stacks;
  sample.thread = thread;
  const double bytes = static_cast<double>(sample.usable) * sample.weight;
  trace::WatchSum& of_stack = sum(sample.node);
  of_stack.allocated_bytes += bytes;
  of_stack.allocated_blocks += sample.weight;
  ++of_stack.allocated_samples;
  totals_.allocated_bytes += bytes;
  totals_.allocated_blocks += sample.weight;
  ++totals_.allocated_samples;
  // A signal handler's event is applied at the end of the hook that it interrupted: the block may be gone.
  if (!sampler.sampled.holds(sample.address)) return count_freed(sample.node, bytes, sample.weight);
  end(sample.address, kUnstamped);
  if (!has_slot()) widen();
  const double weight = has_slot() ? sampler.thin(sample.weight, Sampler::octave(sample.usable), luck()) : 0;
  if (weight == 0) {
    sampler.sampled.remove(sample.address);
    if (!has_slot()) {
      totals_.stop = static_cast<std::uint32_t>(totals_.sample_slots == trace::kWatchMaxSamples ? trace::WatchStop::Full
                                                : spool_->has_reached_limit() ? trace::WatchStop::DiskBudget
                                                                              : trace::WatchStop::NoSpace);
    }
    return;
  }
  sample.weight = weight;
  const std::uint32_t slot = take_slot();
  memory_->samples[slot] = sample;
  memory_->index.insert(sample.address, slot);
  ++totals_.live_samples;
  publish(slot);
}

void Watch::apply_event(const std::uint64_t* event, std::uint32_t thread, std::uint32_t traits) {
  const trace::Op op = trace::op_of(event[0]);
  if (op == trace::Op::Free) return end(event[0] >> trace::F0::kAddressShift, kUnstamped);
  if (op != trace::Op::Alloc && op != trace::Op::Realloc) return;
  BlockEvent block(event);
  block.sample.traits |= traits;
  if (op == trace::Op::Realloc) {
    // A block that isn't known any more, because its sample was dropped, doesn't become known by growing.
    if (memory_->index.find(memory_->samples, block.old) == SampleIndex::kNone) {
      sampler.sampled.remove(block.sample.address);
      return;
    }
    end(block.old, block.before);
  }
  add(block, thread);
}

void Watch::begin_change() {
  const std::uint64_t sequence = state_->sequence.load(std::memory_order_relaxed);
  state_->sequence.store(sequence | 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
}

void Watch::end_change() {
  write_totals();
  state_->sequence.store(state_->sequence.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

bool Watch::apply(const std::uint64_t* words, const std::uint64_t* last, std::uint32_t thread) {
  if (words == last) return true;
  if (!lock_.lock()) {
    __atomic_fetch_add(&totals_.lost_events, 1, __ATOMIC_RELAXED);
    return true;
  }
  if (totals_.stop != 0) {
    lock_.unlock();
    return false;
  }
  begin_change();
  while (words < last && totals_.stop == 0) {
    const std::uint64_t count = trace::event_words(words, static_cast<std::uint64_t>(last - words));
    if (count == 0) break;
    apply_event(words, thread);
    words += count;
  }
  const bool looks = ++applied_ % 64 == 0;
  if (budget_.is_given() && applied_ % kTurnsOfLook == 0 && totals_.stop == 0) keep_budget();
  end_change();
  const bool goes_on = totals_.stop == 0;
  lock_.unlock();
  if (looks) revalidate_modules();
  return goes_on;
}

void Watch::write_totals() {
  totals_.realtime_ns = clock_ns(CLOCK_REALTIME);
  totals_.monotonic_ns = monotonic_ns();
  totals_.stamp = stamp();
  totals_.sample_bytes = sampler.mean_bytes();
  totals_.nodes = stacks_.count();
  ++totals_.serial;
  totals_.check = watch_check(totals_);
  std::memcpy(&state_->totals[totals_.serial % 2], &totals_, sizeof(totals_));
}

void Watch::stop(trace::WatchStop reason) {
  const sys::SignalsBlocked blocked;
  if (state_ == nullptr || !lock_.lock()) return;
  if (totals_.stop == 0 || totals_.stop == static_cast<std::uint32_t>(trace::WatchStop::Resting)) {
    totals_.stop = static_cast<std::uint32_t>(reason);
    write_totals();
  }
  lock_.unlock();
}

}  // namespace tare::recorder
