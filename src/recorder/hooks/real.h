// The real functions behind the hooks: the functions that the program would call without the recorder.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recorder/base/attributes.h"
#include "trace/spool/spool_layout.h"

namespace tare::recorder {

struct RealFunctions {
#define TARE_HOOK(result, name, parameters) result(*name) parameters;
#include "recorder/hooks/hooks.def"
};

// Valid from the start: until the first call of any they look themselves up.
extern TARE_HIDDEN RealFunctions real __asm__("tare_real_functions");

struct Allocator {
  trace::AllocatorKind kind;
  const char* path;    // of the object that malloc resolves to
  const void* base;    // its load address: functions defined elsewhere don't share its heap
  bool glibc_headers;  // usable sizes can be read from glibc's chunk headers
  bool musl_slots;     // usable sizes can be read from the books of musl's mallocng
  // The program has a malloc in front of the recorder's. The functions that it lacks are the C library's as without a
  // recorder: the blocks that it hands to them aren't of the heap that the recorder sees.
  bool bypassed;
};
extern TARE_HIDDEN Allocator allocator;

// Looks up all of them, once. Takes no lock and allocates nothing: may be called under an allocator's own locks.
void resolve_real_functions();

// By malloc_usable_size, which may allocate (tcmalloc's first builds an object): the block of a call from in there
// counts as requested. musl's returns the request, so there the slot is read.
std::size_t query_usable_bytes(void* block, std::size_t requested);

// Of a live block of glibc's: its own computation without its checks. The size field before the block, whose low 3 bits
// are flags; bit 1 means mmapped. A mapped chunk loses two words, and another one includes the next chunk's first word.
TARE_INLINE std::size_t usable_bytes_by_header(const void* block) {
  const std::size_t head = static_cast<const std::size_t*>(block)[-1];
  return (head & ~std::size_t{7}) - sizeof(std::size_t) - ((head & 2) << 2);
}

// The result of malloc_usable_size for a live block of the real allocator.
TARE_INLINE std::size_t usable_bytes(void* block, std::size_t requested) {
  if (TARE_LIKELY(allocator.glibc_headers)) return usable_bytes_by_header(block);
  return query_usable_bytes(block, requested);
}

}  // namespace tare::recorder
