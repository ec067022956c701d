// Reports and pools as events: notes, and stacks for a pool's memory and blocks.
#include "recorder/reports/report.h"

#include <atomic>

#include "recorder/base/syscall.h"
#include "recorder/reports/report_names.h"
#include "trace/spool/program_note.h"

namespace tare::recorder {
namespace {

using trace::Op;

constexpr int kPoolBits = 16;

// Numbers in use, a bit each; number 0 is none.
std::atomic<std::uint64_t> numbers[(trace::kMaxPools + 1) / 64] = {};
std::atomic<std::uint32_t> next_number{1};

std::uint32_t take_number() {
  const std::uint32_t first = next_number.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < trace::kMaxPools; ++i) {
    const std::uint32_t number = (first - 1 + i) % trace::kMaxPools + 1;
    if (!take_pool_number(number)) continue;
    next_number.store(number % trace::kMaxPools + 1, std::memory_order_relaxed);
    return number;
  }
  return 0;
}

// The calling thread, ready to write; null where it can't be recorded, and in a signal handler that interrupted a hook.
Thread* ready_thread(const StartState& start) {
  if (TARE_LIKELY(is_ready(this_thread))) return this_thread;
  return settle(start) == Entry::Ready ? this_thread : nullptr;
}

std::uint64_t handle_of(std::uint32_t number) {
  return std::uint64_t{recorder.spool().header()->pid} << kPoolBits | number;
}

// The pool's number; 0 for no pool, or one of a parent process.
std::uint32_t number_of(std::uint64_t handle) {
  const auto number = static_cast<std::uint32_t>(handle & ((1u << kPoolBits) - 1));
  return handle == handle_of(number) ? number : 0;
}

// A note of three words, `bits` in its first.
void write_named(Thread* thread, Op op, std::uint64_t bits, std::uint64_t value) {
  if (!has_room(thread, 3) && !make_room(thread, 3)) return;
  const std::uint64_t now = stamp_after_loads();
  std::uint64_t* out = thread->cursor;
  *out++ = static_cast<std::uint64_t>(op) | kStampedBit | bits;
  *out++ = value;
  *out++ = now;
  thread->newest_stamp = now;
  if (single_threaded()) thread->gap_start = now;
  commit(thread, out);
}

void write_with_stack(Thread* thread, const StartState& start, Op op, std::uint64_t word, std::uint64_t bytes) {
  Capture capture = thread->unwinder.capture(start);
  if (!prepare(thread, start, 4, capture)) return;
  const Stamped now = stamp_event(thread);
  std::uint64_t* out = thread->cursor;
  *out++ = static_cast<std::uint64_t>(op) | now.flag | frame_bits(capture);
  *out++ = word;
  *out++ = bytes;
  if (now.flag != 0) *out++ = now.stamp;
  commit(thread, put_frames(out, capture));
}

std::uint64_t name_bits(const char* name) {
  trace::StringRef place{0, 0};  // without room for it: the empty name
  if (!find_name(name, place)) place = {0, 0};
  return trace::NamedWord::of(place);
}

}  // namespace

bool take_pool_number(std::uint32_t number) {
  const std::uint64_t bit = std::uint64_t{1} << number % 64;
  return (numbers[number / 64].fetch_or(bit, std::memory_order_acquire) & bit) == 0;
}

void give_pool_number_back(std::uint32_t number) {
  numbers[number / 64].fetch_and(~(std::uint64_t{1} << number % 64), std::memory_order_release);
}

void write_pool_created(Thread* thread, std::uint32_t number, const char* name) {
  write_named(thread, Op::PoolCreate, name_bits(name), trace::pool_word(number, 0));
}

void write_pool_note(Thread* thread, Op op, std::uint32_t number, std::uint64_t address) {
  write_named(thread, op, 0, trace::pool_word(number, address));
}

void write_pool_block(Thread* thread, const StartState& start, std::uint32_t number, std::uint64_t address,
                      std::uint64_t bytes) {
  write_with_stack(thread, start, Op::PoolAlloc, trace::pool_word(number, address), bytes);
}

void record_report(const StartState& start, std::uint64_t address, const char* path, ReportTime time) {
  Thread* thread = ready_thread(start);
  if (thread == nullptr) return;
  // Reports of blocks that weren't sampled would all be of unknown ones.
  if (recorder.sampling() && !sampler.sampled.may_hold(address)) return;
  enter(thread, start);
  write_with_stack(thread, start, Op::ReportSite, address, 0);
  write_named(thread, Op::Report, name_bits(path) | (time == ReportTime::OnAlloc ? trace::NamedWord::kOnAlloc : 0),
              address);
  leave(thread);
}

void record_clear_reports(const StartState& start) {
  Thread* thread = ready_thread(start);
  if (thread == nullptr) return;
  enter(thread, start);
  write_named(thread, Op::ClearReports, 0, 0);
  leave(thread);
}

void record_holders(const StartState& start, std::uint64_t address, HolderCount count) {
  Thread* thread = ready_thread(start);
  if (thread == nullptr || (recorder.sampling() && !sampler.sampled.may_hold(address))) return;
  enter(thread, start);
  write_named(thread, Op::Holders, count == HolderCount::Several ? trace::kSeveralHolders : 0, address);
  leave(thread);
}

void record_amount(const StartState& start, const char* path, std::uint64_t bytes) {
  Thread* thread = ready_thread(start);
  if (thread == nullptr) return;
  enter(thread, start);
  write_named(thread, Op::Amount, name_bits(path), bytes);
  leave(thread);
}

void record_snapshot(const StartState& start, const char* name) {
  if (ready_thread(start) == nullptr) return;
  trace::StringRef place{0, 0};
  if (!find_name(name, place)) place = {0, 0};
  recorder.request_named_snapshot(place);
}

std::uint64_t record_pool_create(const StartState& start, const char* name) {
  Thread* thread = ready_thread(start);
  if (thread == nullptr) return 0;
  const std::uint32_t number = take_number();
  if (number == 0) return 0;
  enter(thread, start);
  write_named(thread, Op::PoolCreate, name_bits(name), trace::pool_word(number, 0));
  leave(thread);
  return handle_of(number);
}

void record_pool_memory(const StartState& start, std::uint64_t pool, std::uint64_t address, std::uint64_t bytes) {
  Thread* thread = ready_thread(start);
  const std::uint32_t number = thread == nullptr ? 0 : number_of(pool);
  if (number == 0) return;
  enter(thread, start);
  write_with_stack(thread, start, Op::PoolGrow, trace::pool_word(number, address), bytes);
  leave(thread);
}

void record_pool_alloc(const StartState& start, std::uint64_t pool, std::uint64_t address, std::uint64_t bytes) {
  Thread* thread = ready_thread(start);
  const std::uint32_t number = thread == nullptr ? 0 : number_of(pool);
  if (number == 0) return;
  enter(thread, start);
  write_with_stack(thread, start, Op::PoolAlloc, trace::pool_word(number, address), bytes);
  leave(thread);
}

void record_pool_note(const StartState& start, std::uint64_t pool, Op op, std::uint64_t address) {
  Thread* thread = ready_thread(start);
  const std::uint32_t number = thread == nullptr ? 0 : number_of(pool);
  if (number == 0) return;
  enter(thread, start);
  write_named(thread, op, 0, trace::pool_word(number, address));
  leave(thread);
}

void record_pool_destroy(const StartState& start, std::uint64_t pool) {
  Thread* thread = ready_thread(start);
  const std::uint32_t number = thread == nullptr ? 0 : number_of(pool);
  if (number == 0) return;
  enter(thread, start);
  write_named(thread, Op::PoolDestroy, 0, trace::pool_word(number, 0));
  leave(thread);
  give_pool_number_back(number);  // after the note is stamped: the next owner of the number stamps later
}

}  // namespace tare::recorder
