// The interposed C functions. Each calls the real one and records the call; nothing else. The symbols of the most
// frequent ones are in passing.cc.
#include <cstddef>
#include <cstdint>

#include <errno.h>
#include <sys/mman.h>

#include "recorder/base/address.h"
#include "recorder/events/contents.h"
#include "recorder/events/failed_request.h"
#include "recorder/events/record.h"
#include "recorder/hooks/hook_names.h"
#include "recorder/hooks/mappings.h"
#include "recorder/hooks/operators.h"
#include "recorder/hooks/real.h"
#include "recorder/hooks/realloc.h"
#include "recorder/hooks/recorded_hooks.h"
#include "recorder/process/memory_locks.h"

namespace tare::recorder {
namespace {

using trace::AllocApi;
using trace::FreeApi;
using trace::MapApi;

TARE_INLINE void* record_block(const StartState& start, void* block, std::size_t requested, std::size_t align,
                               AllocApi api) {
  if (TARE_UNLIKELY(block == nullptr)) {
    record_failed_request(start, requested, api, align);
    return block;
  }
  const auto align_log2 = static_cast<std::uint8_t>(align == 0 ? 0 : __builtin_ctzll(align));
  record_alloc(start, Block{word(block), requested, usable_bytes(block, requested), api, align_log2, 0});
  return block;
}

TARE_INLINE bool record_end(const StartState& start, void* block, FreeApi api) {
  if (TARE_UNLIKELY(block == nullptr)) return false;
  record_free(start, word(block), api);
  return true;
}

// Of a sampling recorder, with the weight from decide_early().
TARE_INLINE void* record_decided_block(const StartState& start, void* block, std::size_t requested, AllocApi api,
                                       double weight) {
  if (TARE_UNLIKELY(block == nullptr)) {
    record_failed_request(start, requested, api);
    return block;
  }
  if (weight == 0) return block;
  record_alloc_slowly(start, word(block), requested, usable_bytes(block, requested), BlockTraits{api, 0}, weight);
  return block;
}

TARE_COLD void* failed_calloc(const StartState& start, std::size_t count, std::size_t bytes) {
  std::size_t total;
  if (__builtin_mul_overflow(count, bytes, &total)) total = kMoreThan64Bits;
  record_failed_request(start, total, AllocApi::Calloc);
  return nullptr;
}

}  // namespace

void* tare_recorded_malloc(std::size_t bytes) {
  return record_block(TARE_HERE, real.malloc(bytes), bytes, 0, AllocApi::Malloc);
}

void* tare_decided_malloc(std::size_t bytes) {
  const double weight = decide_early(bytes);
  return record_decided_block(TARE_HERE, real.malloc(bytes), bytes, AllocApi::Malloc, weight);
}

void* tare_recorded_calloc(std::size_t count, std::size_t bytes) {
  void* block = real.calloc(count, bytes);
  if (TARE_UNLIKELY(block == nullptr)) return failed_calloc(TARE_HERE, count, bytes);
  return record_block(TARE_HERE, block, count * bytes, 0, AllocApi::Calloc);
}

void* tare_decided_calloc(std::size_t count, std::size_t bytes) {
  const double weight = decide_early(count * bytes);
  return record_decided_block(TARE_HERE, real.calloc(count, bytes), count * bytes, AllocApi::Calloc, weight);
}

void* tare_decided_realloc(std::size_t bytes) {
  const double weight = decide_early(bytes);
  return record_decided_block(TARE_HERE, real.realloc(nullptr, bytes), bytes, AllocApi::Realloc, weight);
}

TARE_HOOK_FUNCTION(void*, memalign, (std::size_t align, std::size_t bytes)) {
  return record_block(TARE_HERE, real.memalign(align, bytes), bytes, align, AllocApi::Memalign);
}

TARE_HOOK_FUNCTION(void*, aligned_alloc, (std::size_t align, std::size_t bytes)) {
  return record_block(TARE_HERE, real.aligned_alloc(align, bytes), bytes, align, AllocApi::AlignedAlloc);
}

TARE_HOOK_FUNCTION(int, posix_memalign, (void** block, std::size_t align, std::size_t bytes)) {
  const int error = real.posix_memalign(block, align, bytes);
  if (TARE_LIKELY(error == 0))
    record_block(TARE_HERE, *block, bytes, align, AllocApi::PosixMemalign);
  else
    record_failed_request(TARE_HERE, bytes, AllocApi::PosixMemalign, align);
  return error;
}

TARE_HOOK_FUNCTION(void*, valloc, (std::size_t bytes)) {
  return record_block(TARE_HERE, real.valloc(bytes), bytes, 4096, AllocApi::Valloc);
}

TARE_HOOK_FUNCTION(void*, pvalloc, (std::size_t bytes)) {
  return record_block(TARE_HERE, real.pvalloc(bytes), bytes, 4096, AllocApi::Pvalloc);
}

void* tare_recorded_realloc(void* old, std::size_t bytes) {
  if (old == nullptr) return record_block(TARE_HERE, real.realloc(nullptr, bytes), bytes, 0, AllocApi::Realloc);
  return record_realloc(TARE_HERE, old, bytes, AllocApi::Realloc);
}

// glibc's own calls realloc through the hook: the event would bear the wrong name and frame. It calls the program's
// where there is one.
TARE_HOOK_FUNCTION(void*, reallocarray, (void* old, std::size_t count, std::size_t bytes)) {
  if (TARE_UNLIKELY(allocator.bypassed)) return real.reallocarray(old, count, bytes);
  std::size_t total;
  if (TARE_UNLIKELY(__builtin_mul_overflow(count, bytes, &total))) {
    record_failed_request(TARE_HERE, kMoreThan64Bits, AllocApi::Reallocarray);
    errno = ENOMEM;
    return nullptr;
  }
  if (old == nullptr) return record_block(TARE_HERE, real.realloc(nullptr, total), total, 0, AllocApi::Reallocarray);
  return record_realloc(TARE_HERE, old, total, AllocApi::Reallocarray);
}

void tare_recorded_free(void* block) {
  if (TARE_LIKELY(record_end(TARE_HERE, block, FreeApi::Free))) real.free(block);
}

TARE_HOOK_FUNCTION(void, cfree, (void* block)) {
  if (allocator.bypassed || record_end(TARE_HERE, block, FreeApi::Cfree)) real.cfree(block);
}

TARE_HOOK_FUNCTION(void, free_sized, (void* block, std::size_t bytes)) {
  if (allocator.bypassed || record_end(TARE_HERE, block, FreeApi::FreeSized)) real.free_sized(block, bytes);
}

TARE_HOOK_FUNCTION(void, free_aligned_sized, (void* block, std::size_t align, std::size_t bytes)) {
  if (allocator.bypassed || record_end(TARE_HERE, block, FreeApi::FreeAlignedSized))
    real.free_aligned_sized(block, align, bytes);
}

TARE_HOOK_FUNCTION(std::size_t, malloc_usable_size, (void* block)) {
  if (block == nullptr) return 0;
  if (TARE_UNLIKELY(recorder.contents())) contents_of_blocks.mark_usable_queried(word(block));
  return real.malloc_usable_size(block);
}

TARE_HOOK_FUNCTION(void*, mmap, (void* address, std::size_t bytes, int protection, int flags, int fd, long offset)) {
  void* mapping = real.mmap(address, bytes, protection, flags, fd, offset);
  if (mapping != MAP_FAILED) record_mapping(TARE_HERE, Mapping{word(mapping), bytes, 0, 0, MapApi::Mmap});
  return mapping;
}

TARE_HOOK_FUNCTION(void*, mmap64, (void* address, std::size_t bytes, int protection, int flags, int fd, long offset)) {
  void* mapping = real.mmap64(address, bytes, protection, flags, fd, offset);
  if (mapping != MAP_FAILED) record_mapping(TARE_HERE, Mapping{word(mapping), bytes, 0, 0, MapApi::Mmap});
  return mapping;
}

TARE_HOOK_FUNCTION(int, munmap, (void* address, std::size_t bytes)) {
  const StartState here = TARE_HERE;
  const UnmapBegin begin = begin_unmap(here);
  const int result = real.munmap(address, bytes);
  mappings_changed();
  if (result == 0)
    end_unmap(here, begin, Mapping{0, 0, word(address), bytes, MapApi::Munmap});
  else
    give_up_unmap(begin);
  return result;
}

TARE_HOOK_FUNCTION(void*, mremap, (void* old, std::size_t old_bytes, std::size_t bytes, int flags, void* wanted)) {
  constexpr int kKeepsOld = 4;  // MREMAP_DONTUNMAP, Linux 5.7
  const StartState here = TARE_HERE;
  const UnmapBegin begin = begin_unmap(here);
  void* mapping = real.mremap(old, old_bytes, bytes, flags, wanted);
  mappings_changed();
  if (mapping != MAP_FAILED)
    end_unmap(here, begin,
              Mapping{word(mapping), bytes, word(old), (flags & kKeepsOld) != 0 ? 0 : old_bytes, MapApi::Mremap});
  else
    give_up_unmap(begin);
  return mapping;
}

TARE_HOOK_FUNCTION(int, mlockall, (int flags)) { return lock_programs_memory(flags); }

// No event: a readable stack may become unreadable.
TARE_HOOK_FUNCTION(int, mprotect, (void* address, std::size_t bytes, int protection)) {
  const int result = real.mprotect(address, bytes, protection);
  mappings_changed();
  return result;
}

namespace {

// `move` sets the break and returns the old one, or fails as sbrk does.
template <typename Move>
TARE_INLINE void* move_break(const StartState& start, std::intptr_t change, Move move) {
  void* const failed = reinterpret_cast<void*>(-1);
  if (change >= 0) {
    void* const before = move();
    if (change > 0 && before != failed)
      record_mapping(start, Mapping{word(before), static_cast<std::uint64_t>(change), 0, 0, MapApi::Brk});
    return before;
  }
  const UnmapBegin begin = begin_unmap(start);
  void* const before = move();
  const auto dropped = static_cast<std::uint64_t>(-change);
  if (before != failed)
    end_unmap(start, begin, Mapping{0, 0, word(before) - dropped, dropped, MapApi::Brk});
  else
    give_up_unmap(begin);
  return before;
}

}  // namespace

TARE_HOOK_FUNCTION(int, brk, (void* address)) {
  void* const before = real.sbrk(0);
  const auto change = static_cast<std::intptr_t>(word(address) - word(before));
  int result = 0;
  move_break(TARE_HERE, change, [&] {
    result = real.brk(address);
    return result == 0 ? before : reinterpret_cast<void*>(-1);
  });
  return result;
}

TARE_HOOK_FUNCTION(void*, sbrk, (std::intptr_t change)) {
  return move_break(TARE_HERE, change, [change] { return real.sbrk(change); });
}

TARE_HOOK_FUNCTION(int, dlclose, (void* handle)) {
  begin_unloading();
  const int result = real.dlclose(handle);
  end_unloading();
  modules_changed();
  forget_unloaded_operators();
  return result;
}

}  // namespace tare::recorder
