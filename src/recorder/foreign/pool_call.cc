// Around the calls of an allocator with pools: see pool_call.h.
#include "recorder/foreign/pool_call.h"

#include <atomic>
#include <cstring>

#include "recorder/base/address.h"
#include "recorder/base/text.h"
#include "recorder/events/failed_request.h"
#include "recorder/foreign/described.h"
#include "recorder/foreign/pool_table.h"
#include "recorder/reports/report.h"
#include "recorder/unwind/stack_memory.h"
#include "trace/spool/allocator_table.h"

namespace tare::recorder {
namespace {

using trace::AllocApi;
using trace::Op;

constexpr std::uint64_t kLeastAddress = 4096;  // smaller ones are no pools, whatever a description says

// A frame of the thread's stack that a described call is in, as long as its return address stands there.
struct CallFrame {
  std::uint64_t sp;  // 0: none
  std::uint64_t return_address;
};
__thread CallFrame block_call __attribute__((tls_model("initial-exec"))) = {0, 0};
__thread CallFrame end_call __attribute__((tls_model("initial-exec"))) = {0, 0};

// A call that was left by longjmp has its frame above this one or doesn't have it any more.
bool is_within(const CallFrame& call, const StartState& start) {
  constexpr std::uint64_t kDeepestCall = 256 << 10;
  if (call.sp == 0 || start.sp >= call.sp || call.sp - start.sp >= kDeepestCall) return false;
  return *reinterpret_cast<const std::uint64_t*>(call.sp - 8) == call.return_address;
}

class Within {
 public:
  Within(CallFrame& call, const StartState& start) : call_(call), before_(call) {
    call_ = {start.sp, start.return_address};
  }
  ~Within() { call_ = before_; }
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;

 private:
  CallFrame& call_;
  CallFrame before_;
};

// Null: this call isn't recorded, or is part of another one's event. A sample has the pools' blocks of malloc.
Thread* pool_thread(const StartState& start) {
  if (recorder.sampling() || is_within(block_call, start)) return nullptr;
  block_call = {0, 0};
  if (TARE_LIKELY(is_ready(this_thread))) return this_thread;
  return settle(start) == Entry::Ready ? this_thread : nullptr;
}

void* perform_within(const StartState& start, const ForeignCall& call) {
  const Within within(block_call, start);
  return call.perform(call.context);
}

// With the terminating zero, if memory is readable that far: a description may call anything a string.
std::uint64_t string_bytes(const char* text) {
  for (std::uint64_t length = 0;;) {
    if (!probe_readable(word(text) + length)) return length;
    const std::uint64_t readable = kPage - (word(text) + length) % kPage;
    const void* const end = std::memchr(text + length, 0, readable);
    if (end != nullptr) return word(end) - word(text) + 1;
    length += readable;
  }
}

void end_pool(Thread* thread, std::uint32_t number) {
  write_pool_note(thread, Op::PoolDestroy, number, 0);
  described_pools.release(number);  // after the note is stamped: the next owner of the number stamps later
}

void end_children(Thread* thread, std::uint32_t number) {
  while (const std::uint32_t child = described_pools.take_descendant(number)) end_pool(thread, child);
}

void end_blocks(Thread* thread, std::uint32_t number) {
  if (described_pools.take_blocks(number)) write_pool_note(thread, Op::PoolReset, number, 0);
}

// The number of a known pool; 0: it isn't known.
std::uint32_t find_pool(std::uint64_t pool) { return pool < kLeastAddress ? 0 : described_pools.find(pool); }

// Once a process, a line about blocks that a sample lacks.
TARE_COLD void note_sample(const PoolAllocator& pool_allocator) {
  static std::atomic<bool> noted{false};
  if (noted.load(std::memory_order_relaxed) || noted.exchange(true, std::memory_order_relaxed)) return;
  char line[kForeignNoteBytes];
  Text text(line, sizeof line);
  text.add(trace::kForeignNotice).add(pool_allocator.name);
  text.add(": with --sample, blocks of its pools aren't recorded: the sample has the pools' blocks of malloc");
  Notice notice;
  recorder.leave_notice(notice, recorder.program(), line);
}

// Once a process, a line about pools that have no number.
TARE_COLD void note_lack_of_numbers(const PoolAllocator& pool_allocator) {
  static std::atomic<bool> noted{false};
  if (noted.exchange(true, std::memory_order_relaxed)) return;
  char line[kForeignNoteBytes];
  Text text(line, sizeof line);
  text.add(trace::kForeignNotice).add(pool_allocator.name).add(": it has more than ").add_number(PoolTable::kMostPools);
  text.add(" pools at once, or its description names a wrong argument as the pool");
  Notice notice;
  recorder.leave_notice(notice, recorder.program(), line);
}

// Between enter() and leave(). 0: no number is left.
std::uint32_t begin_pool(Thread* thread, const PoolAllocator& pool_allocator, std::uint64_t pool,
                         std::uint32_t parent) {
  const std::uint32_t number = described_pools.add(pool, parent);
  if (number != 0)
    write_pool_created(thread, number, pool_allocator.name);
  else
    note_lack_of_numbers(pool_allocator);
  return number;
}

// A pool that is older than the recording, or that an undescribed function made, begins with its first use.
std::uint32_t find_or_begin(Thread* thread, const PoolAllocator& pool_allocator, std::uint64_t pool) {
  const std::uint64_t key = pool < kLeastAddress ? PoolTable::kNoPool : pool;
  const std::uint32_t known = described_pools.find(key);
  return TARE_LIKELY(known != 0) ? known : begin_pool(thread, pool_allocator, key, 0);
}

}  // namespace

void* record_block_of_pool(const StartState& start, const PoolAllocator& pool_allocator, std::uint64_t pool,
                           std::uint64_t bytes, BlockSize size, const ForeignCall& call) {
  if (TARE_UNLIKELY(recorder.sampling()) && recorder.alive()) note_sample(pool_allocator);
  if (pool_thread(start) == nullptr) return call.perform(call.context);
  void* const block = perform_within(start, call);
  Thread* const thread = pool_thread(start);  // another recording may have begun
  if (thread == nullptr) return block;
  if (TARE_UNLIKELY(block == nullptr)) {
    if (size == BlockSize::Requested) record_failed_request(start, bytes, AllocApi::Malloc, 0);
    return nullptr;
  }
  if (size == BlockSize::String) bytes = string_bytes(static_cast<const char*>(block));
  enter(thread, start);
  if (const std::uint32_t number = find_or_begin(thread, pool_allocator, pool); number != 0) {
    described_pools.note_block(number);
    write_pool_block(thread, start, number, word(block), bytes);
  }
  leave(thread);
  return block;
}

void record_pool_free(const StartState& start, void* block, const ForeignCall& call) {
  Thread* const thread = block == nullptr ? nullptr : pool_thread(start);
  if (thread != nullptr) {
    enter(thread, start);
    write_pool_note(thread, Op::PoolFree, 0, word(block));
    leave(thread);
  }
  perform_within(start, call);
}

void* record_pool_resize(const StartState& start, const PoolAllocator& pool_allocator, std::uint64_t pool, void* old,
                         std::uint64_t bytes, const ForeignCall& call) {
  if (old == nullptr) return record_block_of_pool(start, pool_allocator, pool, bytes, BlockSize::Requested, call);
  Thread* thread = pool_thread(start);
  if (thread == nullptr) return call.perform(call.context);
  // With one thread nobody gets the old block's memory meanwhile, and a call that fails leaves the block as it was.
  const bool is_alone = single_threaded();
  if (!is_alone) {
    enter(thread, start);
    write_pool_note(thread, Op::PoolFree, 0, word(old));
    leave(thread);
  }
  void* const block = perform_within(start, call);
  thread = pool_thread(start);
  if (thread == nullptr) return block;
  if (block == nullptr && bytes != 0) record_failed_request(start, bytes, AllocApi::Realloc, 0);
  enter(thread, start);
  if (is_alone && (block != nullptr || bytes == 0)) write_pool_note(thread, Op::PoolFree, 0, word(old));
  if (block != nullptr)
    write_pool_block(thread, start, 0, word(block), bytes);
  else if (!is_alone && bytes != 0)
    write_pool_block(thread, start, 0, word(old), 0);  // its size isn't known any more
  leave(thread);
  return block;
}

void* record_new_pool(const StartState& start, const PoolAllocator& pool_allocator, std::uint64_t parent,
                      const ForeignCall& call) {
  if (pool_thread(start) == nullptr) return call.perform(call.context);
  void* const pool = perform_within(start, call);
  Thread* const thread = word(pool) < kLeastAddress ? nullptr : pool_thread(start);
  if (thread == nullptr) return pool;
  enter(thread, start);
  // One that ended unseen, at the same address.
  if (const std::uint32_t old = described_pools.find(word(pool)); old != 0) {
    end_children(thread, old);
    if (described_pools.take(old, word(pool), described_pools.generation(old))) end_pool(thread, old);
  }
  begin_pool(thread, pool_allocator, word(pool),
             parent < kLeastAddress ? 0 : find_or_begin(thread, pool_allocator, parent));
  leave(thread);
  return pool;
}

// Pools that are about to end may be moved out of the way.
void record_moved_pool(const StartState& start, std::uint64_t pool, std::uint64_t parent, const ForeignCall& call) {
  if (pool_thread(start) != nullptr && !is_within(end_call, start)) {
    if (const std::uint32_t number = find_pool(pool); number != 0) described_pools.move(number, find_pool(parent));
  }
  call.perform(call.context);
}

void record_end_of_pool(const StartState& start, std::uint64_t pool, PoolEnd what, const ForeignCall& call) {
  Thread* thread = pool_thread(start);
  const std::uint32_t number = thread == nullptr ? 0 : find_pool(pool);
  if (number == 0) {
    call.perform(call.context);
    return;
  }
  const std::uint32_t generation = described_pools.generation(number);
  if (!single_threaded()) {
    enter(thread, start);
    if (what != PoolEnd::Blocks) end_children(thread, number);
    end_blocks(thread, number);
    leave(thread);
  }
  {
    const Within within(end_call, start);
    call.perform(call.context);
  }
  thread = pool_thread(start);
  if (thread == nullptr || described_pools.find(pool) != number || described_pools.generation(number) != generation)
    return;
  enter(thread, start);
  if (what != PoolEnd::Blocks) end_children(thread, number);
  if (what != PoolEnd::All)
    end_blocks(thread, number);
  else if (described_pools.take(number, pool, generation))
    end_pool(thread, number);
  leave(thread);
}

}  // namespace tare::recorder
