// Blocks and mappings.
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <new>

#include "operations.h"
#include "run.h"

namespace dangerous {

static size_t size_of(unsigned value) {
  return value % 7 == 0 ? size_t{value} * 611 : value % 3 == 0 ? value % 2048 : value % 96;
}

static void fill(Slot& slot, unsigned value) {
  for (size_t i = 0; i < slot.size_bytes; i += 61) slot.bytes[i] = static_cast<unsigned char>(value + i);
}

static void check(Run& run, const Slot& slot) {
  uint64_t sum = 0;
  for (size_t i = 0; i < slot.size_bytes; i += 61) sum = sum * 31 + slot.bytes[i];
  note(run, sum);
}

void drop(Run& run, Slot& slot) {
  if (slot.bytes == nullptr) return;
  check(run, slot);
  free(slot.bytes);
  slot = {};
}

void allocate(Run& run, unsigned value) {
  Slot& slot = run.slots[value % kSlots];
  drop(run, slot);
  slot.size_bytes = size_of(value);
  void* bytes = nullptr;
  switch (value % 6) {
    case 0:
      bytes = calloc(slot.size_bytes, 1);
      break;
    case 1:
      note(run, static_cast<uint64_t>(posix_memalign(&bytes, size_t{16} << value % 9, slot.size_bytes)));
      break;
    case 2:
      bytes = aligned_alloc(64, (slot.size_bytes + 63) & ~size_t{63});
      break;
    case 3:
      bytes = reallocarray(nullptr, slot.size_bytes, 1);
      break;
    default:
      bytes = malloc(slot.size_bytes);
  }
  slot.bytes = static_cast<unsigned char*>(bytes);
  note(run, bytes != nullptr);
  if (bytes == nullptr) slot.size_bytes = 0;
  if (bytes != nullptr) note(run, malloc_usable_size(bytes) >= slot.size_bytes);
  fill(slot, value);
}

void resize(Run& run, unsigned value) {
  Slot& slot = run.slots[value % kSlots];
  const size_t size_bytes = size_of(value * 5 + 1) + 1;
  auto* const bytes = static_cast<unsigned char*>(realloc(slot.bytes, size_bytes));
  note(run, bytes != nullptr);
  if (bytes == nullptr) return;
  if (slot.size_bytes > size_bytes) slot.size_bytes = size_bytes;
  slot.bytes = bytes;
  check(run, slot);
  slot.size_bytes = size_bytes;
  fill(slot, value);
}

void fail_to_allocate(Run& run, unsigned) {
  volatile size_t much = SIZE_MAX / 2;
  errno = 0;
  void* const block = malloc(much);
  note(run, block == nullptr ? static_cast<uint64_t>(errno) : 0);
  try {
    delete[] new char[much];
    note(run, 1);
  } catch (const std::bad_alloc&) {
    note(run, 2);
  }
  note(run, new (std::nothrow) char[much] == nullptr);
}

void use_mapping(Run& run, unsigned value) {
  const size_t pages = 2 + value % 40;
  const size_t size_bytes = pages * kPageBytes;
  auto* bytes = static_cast<unsigned char*>(
      mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  note(run, bytes != MAP_FAILED);
  if (bytes == MAP_FAILED) return;
  bytes[size_bytes - 1] = 7;
  if (value % 2 == 0) note(run, static_cast<uint64_t>(mprotect(bytes, kPageBytes, PROT_NONE)));
  if (value % 3 == 0) {
    void* const moved = mremap(bytes + kPageBytes, size_bytes - kPageBytes, 2 * size_bytes, MREMAP_MAYMOVE);
    note(run, moved != MAP_FAILED);
    note(run, static_cast<unsigned char*>(moved)[size_bytes - kPageBytes - 1]);
    note(run, static_cast<uint64_t>(munmap(moved, 2 * size_bytes)));
    note(run, static_cast<uint64_t>(munmap(bytes, kPageBytes)));
    return;
  }
  // piece by piece: another thread may map what was unmapped at once
  note(run, static_cast<uint64_t>(munmap(bytes + kPageBytes, size_bytes - kPageBytes)));
  note(run, static_cast<uint64_t>(munmap(bytes, kPageBytes)));
}

void protect_inside_a_block(Run& run, unsigned value) {
  const size_t size_bytes = (64 + value % 512) * kPageBytes;
  auto* const block = static_cast<unsigned char*>(malloc(size_bytes));
  note(run, block != nullptr);
  if (block == nullptr) return;
  memset(block, 3, size_bytes / 2);
  auto* const page =
      reinterpret_cast<unsigned char*>((reinterpret_cast<uintptr_t>(block) + 8 * kPageBytes) & ~(kPageBytes - 1));
  note(run, static_cast<uint64_t>(mprotect(page, kPageBytes, value % 2 == 0 ? PROT_NONE : PROT_READ)));
  perform_block(run);
  // a block of pages of its own may go back with a page that can't be read; one of the heap must not
  note(run, static_cast<uint64_t>(mprotect(page, kPageBytes, PROT_READ | PROT_WRITE)));
  note(run, block[size_bytes / 2 - 1]);
  free(block);
}

void give_back(Run& run, unsigned value) {
  void* blocks[32];
  for (void*& block : blocks) block = malloc(value % 60000 + 1000);
  for (void* block : blocks) free(block);
  malloc_trim(0);
  note(run, 1);
}

}  // namespace dangerous
