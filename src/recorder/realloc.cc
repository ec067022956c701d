// realloc, in all the ways it can go.
#include "recorder/realloc.h"

#include <cstring>

#include "recorder/bootstrap_arena.h"
#include "recorder/nested.h"
#include "recorder/real.h"

namespace tare::recorder {

namespace {

std::uint64_t word(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

// A block made while the real allocator was being looked up moves into the real heap.
void* leave_bootstrap(const StartState& start, const void* old, std::size_t bytes, trace::AllocApi api) {
  void* block = real.malloc(bytes);
  if (block == nullptr || bootstrap_arena.owns(block)) return block;
  const std::size_t before = bootstrap_arena.size_of(old);
  std::memcpy(block, old, before < bytes ? before : bytes);
  record_alloc(start, Block{word(block), bytes, usable_bytes(block, bytes), api, 0, 0});
  return block;
}

void* nested_realloc(Thread* thread, const StartState& start, void* old, std::size_t bytes, trace::AllocApi api) {
  const std::uint64_t address = word(old);
  const std::uint64_t before = stamp_after_loads();
  void* block = real.realloc(old, bytes);
  if (block != nullptr) {
    queue_realloc(thread, start, before, address, Block{word(block), bytes, usable_bytes(block, bytes), api, 0, 0});
  } else if (bytes == 0) {
    queue_free(thread, address, trace::FreeApi::ReallocToZero);
  }
  return block;
}

}  // namespace

void* record_realloc(const StartState& start, void* old, std::size_t bytes, trace::AllocApi api) {
  if (TARE_UNLIKELY(bootstrap_arena.owns(old))) return leave_bootstrap(start, old, bytes, api);
  Thread* thread = this_thread;
  if (TARE_UNLIKELY(!is_ready(thread))) {
    const Entry entry = settle(start);
    thread = this_thread;
    if (entry == Entry::Ignored) return real.realloc(old, bytes);
    if (entry == Entry::Nested) return nested_realloc(thread, start, old, bytes, api);
  }
  const std::uint64_t address = word(old);
  enter(thread, start);
  const ReallocBegin begin = begin_realloc(thread, start);
  void* block = real.realloc(old, bytes);
  if (TARE_LIKELY(block != nullptr)) {
    write_realloc(thread, begin, address, Block{word(block), bytes, usable_bytes(block, bytes), api, 0, 0});
  } else if (bytes == 0) {
    write_realloc_free(thread, begin, address, trace::FreeApi::ReallocToZero);  // glibc's way: realloc(p, 0) frees
  } else {
    give_up_realloc(thread, begin);
  }
  leave(thread);
  return block;
}

void record_fork(const StartState& start, std::uint32_t child) {
  if (!recorder.alive() || settle(start) != Entry::Ready) return;
  Thread* thread = this_thread;
  enter(thread, start);
  write_note(thread, trace::Op::Fork, child);
  leave(thread);
}

}  // namespace tare::recorder
