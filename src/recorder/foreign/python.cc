// PyMem_SetAllocator with functions that call those before them: see python.h.
//
// Domain raw stays as it is. It is malloc, and the hooks of malloc record its blocks. Domains mem and obj are pymalloc:
// size classes of 16 bytes up to 512, and larger blocks by domain raw.
#include "recorder/foreign/python.h"

#include <cstddef>

#include "recorder/foreign/foreign_call.h"
#include "recorder/unwind/definitions.h"

namespace tare::recorder {
namespace {

using trace::AllocApi;

struct PyMemAllocatorEx {  // as CPython 3.5 to 3.14 define it
  void* context;
  void* (*malloc)(void*, std::size_t);
  void* (*calloc)(void*, std::size_t, std::size_t);
  void* (*realloc)(void*, void*, std::size_t);
  void (*free)(void*, void*);
};

enum Domain : int { kRaw = 0, kMem = 1, kObj = 2, kDomains = 3 };

PyMemAllocatorEx wrapped[kDomains];

std::size_t pymalloc_bytes(void*, std::size_t requested) { return (requested + 15) & ~std::size_t{15}; }
constexpr ForeignHeap kPymalloc{pymalloc_bytes, false};

// A request for so many bytes gets a block of pymalloc's own, except where no arena can be mapped any more.
bool is_for_pymalloc(std::size_t bytes) { return bytes - 1 < 512; }

struct Arguments {
  const PyMemAllocatorEx* before;
  void* block;
  std::size_t count;
  std::size_t bytes;
};

const Arguments& arguments(const void* context) { return *static_cast<const Arguments*>(context); }

void* call_malloc(const void* context) {
  const Arguments& call = arguments(context);
  return call.before->malloc(call.before->context, call.bytes);
}

void* call_calloc(const void* context) {
  const Arguments& call = arguments(context);
  return call.before->calloc(call.before->context, call.count, call.bytes);
}

void* call_realloc(const void* context) {
  const Arguments& call = arguments(context);
  return call.before->realloc(call.before->context, call.block, call.bytes);
}

void* call_free(const void* context) {
  const Arguments& call = arguments(context);
  call.before->free(call.before->context, call.block);
  return nullptr;
}

const PyMemAllocatorEx* before(void* context) { return static_cast<const PyMemAllocatorEx*>(context); }

// After a call for a block of pymalloc's own, before which newest_block was cleared. The call isn't marked as a foreign
// allocator's: it maps arenas and lists them in memory of malloc, and the hooks record both as what they are. If it had
// to take the block itself from malloc, that is recorded already.
TARE_INLINE void* record_own(const StartState& start, void* block, std::size_t bytes, AllocApi api) {
  const auto address = reinterpret_cast<std::uint64_t>(block);
  if (TARE_LIKELY(block != nullptr && this_thread->newest_block != address))
    record_alloc(start, Block{address, bytes, pymalloc_bytes(block, bytes), api, 0, 0, Maker::Program});
  return block;
}

void* python_malloc(void* context, std::size_t bytes) {
  if (TARE_LIKELY(is_for_pymalloc(bytes) && is_ready(this_thread))) {
    this_thread->newest_block = 0;
    void* const block = before(context)->malloc(before(context)->context, bytes);
    return record_own(TARE_HERE, block, bytes, AllocApi::ForeignMalloc);
  }
  const Arguments call{before(context), nullptr, 0, bytes};
  const ForeignRequest request{bytes, 0, AllocApi::Malloc, AllocApi::ForeignMalloc};
  return record_foreign_alloc(TARE_HERE, kPymalloc, request, {call_malloc, &call});
}

void* python_calloc(void* context, std::size_t count, std::size_t bytes) {
  if (TARE_LIKELY(bytes <= 512 && is_for_pymalloc(count * bytes) && is_ready(this_thread))) {
    this_thread->newest_block = 0;
    void* const block = before(context)->calloc(before(context)->context, count, bytes);
    return record_own(TARE_HERE, block, count * bytes, AllocApi::ForeignCalloc);
  }
  const Arguments call{before(context), nullptr, count, bytes};
  const ForeignRequest request{count * bytes, 0, AllocApi::Calloc, AllocApi::ForeignCalloc};
  return record_foreign_alloc(TARE_HERE, kPymalloc, request, {call_calloc, &call});
}

void* python_realloc(void* context, void* block, std::size_t bytes) {
  const Arguments call{before(context), block, 0, bytes};
  return record_foreign_realloc(TARE_HERE, kPymalloc, block, bytes, {call_realloc, &call});
}

void python_free(void* context, void* block) {
  const Arguments call{before(context), block, 0, 0};
  record_foreign_free(TARE_HERE, block, {call_free, &call});
}

}  // namespace

void wrap_python_allocators() {
  Definition functions[] = {{"PyMem_GetAllocator"}, {"PyMem_SetAllocator"}};
  find_definitions(functions, 2, SearchFrom::FirstObject);
  if (functions[0].address == nullptr || functions[1].address == nullptr) return;
  const auto get = reinterpret_cast<void (*)(int, PyMemAllocatorEx*)>(functions[0].address);
  const auto set = reinterpret_cast<void (*)(int, PyMemAllocatorEx*)>(functions[1].address);
  for (const Domain domain : {kMem, kObj}) {
    PyMemAllocatorEx& known = wrapped[domain];
    get(domain, &known);
    if (known.malloc == nullptr || known.calloc == nullptr || known.realloc == nullptr || known.free == nullptr)
      continue;
    PyMemAllocatorEx ours{&known, python_malloc, python_calloc, python_realloc, python_free};
    set(domain, &ours);
  }
}

}  // namespace tare::recorder
