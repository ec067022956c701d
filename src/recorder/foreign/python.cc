// Functions that call CPython's own ones: see python.h.
//
// The interpreter's table has a context for each domain, which stays as it is: pymalloc has none, and these functions
// find the ones before them by the domain. So each function can be replaced by itself while others are being called.
//
// Domain raw stays as it is. It is malloc, and the hooks of malloc record its blocks. Domains mem and obj are pymalloc:
// size classes of 16 bytes up to 512, and larger blocks by domain raw.
#include "recorder/foreign/python.h"

#include <link.h>

#include <cstddef>
#include <cstdint>

#include "recorder/base/address.h"
#include "recorder/foreign/foreign_call.h"
#include "recorder/unwind/definitions.h"
#include "recorder/unwind/stack_memory.h"

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

// After a call for a block of pymalloc's own, before which newest_block was cleared. The call isn't marked as a foreign
// allocator's: it maps arenas and lists them in memory of malloc, and the hooks record both as what they are. If it had
// to take the block itself from malloc, that is recorded already.
TARE_INLINE void* record_own(const StartState& start, void* block, std::size_t bytes, AllocApi api) {
  const auto address = reinterpret_cast<std::uint64_t>(block);
  if (TARE_LIKELY(block != nullptr && this_thread->newest_block != address))
    record_alloc(start, Block{address, bytes, pymalloc_bytes(block, bytes), api, 0, 0, Maker::Program});
  return block;
}

template <Domain Of>
void* python_malloc(void*, std::size_t bytes) {
  if (TARE_LIKELY(is_for_pymalloc(bytes) && is_ready(this_thread))) {
    this_thread->newest_block = 0;
    void* const block = wrapped[Of].malloc(wrapped[Of].context, bytes);
    return record_own(TARE_HERE, block, bytes, AllocApi::ForeignMalloc);
  }
  const Arguments call{&wrapped[Of], nullptr, 0, bytes};
  const ForeignRequest request{bytes, 0, AllocApi::Malloc, AllocApi::ForeignMalloc};
  return record_foreign_alloc(TARE_HERE, kPymalloc, request, {call_malloc, &call});
}

template <Domain Of>
void* python_calloc(void*, std::size_t count, std::size_t bytes) {
  if (TARE_LIKELY(bytes <= 512 && is_for_pymalloc(count * bytes) && is_ready(this_thread))) {
    this_thread->newest_block = 0;
    void* const block = wrapped[Of].calloc(wrapped[Of].context, count, bytes);
    return record_own(TARE_HERE, block, count * bytes, AllocApi::ForeignCalloc);
  }
  const Arguments call{&wrapped[Of], nullptr, count, bytes};
  const ForeignRequest request{count * bytes, 0, AllocApi::Calloc, AllocApi::ForeignCalloc};
  return record_foreign_alloc(TARE_HERE, kPymalloc, request, {call_calloc, &call});
}

template <Domain Of>
void* python_realloc(void*, void* block, std::size_t bytes) {
  const Arguments call{&wrapped[Of], block, 0, bytes};
  return record_foreign_realloc(TARE_HERE, kPymalloc, block, bytes, {call_realloc, &call});
}

template <Domain Of>
void python_free(void*, void* block) {
  const Arguments call{&wrapped[Of], block, 0, 0};
  record_foreign_free(TARE_HERE, block, {call_free, &call});
}

template <Domain Of>
constexpr PyMemAllocatorEx kOurs{nullptr, python_malloc<Of>, python_calloc<Of>, python_realloc<Of>, python_free<Of>};

bool is_whole(const PyMemAllocatorEx& table) {
  return table.malloc != nullptr && table.calloc != nullptr && table.realloc != nullptr && table.free != nullptr;
}

const PyMemAllocatorEx& ours_of(Domain domain) { return domain == kMem ? kOurs<kMem> : kOurs<kObj>; }

using Get = void (*)(int, PyMemAllocatorEx*);
using Set = void (*)(int, PyMemAllocatorEx*);

// The interpreter's table of a domain in a running program.
struct FoundTable {
  PyMemAllocatorEx* table;
  Domain domain;
};
constinit FoundTable found_tables[2] = {};
constinit const void* found_in = nullptr;  // the object that has the interpreter

struct TableSearch {
  Get get;
  const void* function;  // in the same object
};

bool object_has(const dl_phdr_info& object, const void* address) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object.dlpi_phdr[i];
    const std::uint64_t offset = reinterpret_cast<std::uint64_t>(address) - object.dlpi_addr - segment.p_vaddr;
    if (segment.p_type == PT_LOAD && offset < segment.p_memsz) return true;
  }
  return false;
}

bool calls_same(const PyMemAllocatorEx& one, const PyMemAllocatorEx& other) {
  return one.malloc == other.malloc && one.calloc == other.calloc && one.realloc == other.realloc &&
         one.free == other.free;
}

template <typename Function>
void store(Function& place, Function value) {
  __atomic_store_n(&place, value, __ATOMIC_RELEASE);
}

bool has_our_free(Get get, Domain domain) {
  PyMemAllocatorEx now;
  get(domain, &now);
  return now.free == ours_of(domain).free;
}

// Copies of a table have the same contents. The interpreter's is the one whose change it notices.
void try_table(Get get, PyMemAllocatorEx* table) {
  for (const Domain domain : {kMem, kObj}) {
    FoundTable& found = found_tables[domain == kObj];
    const PyMemAllocatorEx& before = wrapped[domain];
    if (found.table != nullptr || !is_whole(before) || !calls_same(*table, before) || table->context != before.context)
      continue;
    store(table->free, ours_of(domain).free);
    if (has_our_free(get, domain)) {
      found = {table, domain};
      return;
    }
    store(table->free, before.free);
  }
}

int search_tables(dl_phdr_info* object, std::size_t, void* argument) {
  const TableSearch& search = *static_cast<const TableSearch*>(argument);
  if (!object_has(*object, search.function)) return 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) == 0) continue;
    const std::uint64_t start = (object->dlpi_addr + segment.p_vaddr + 7) & ~std::uint64_t{7};
    const std::uint64_t end = object->dlpi_addr + segment.p_vaddr + segment.p_memsz;
    std::uint64_t readable_end = start;
    for (std::uint64_t at = start; at + sizeof(PyMemAllocatorEx) <= end; at += 8) {
      if (at + sizeof(PyMemAllocatorEx) > readable_end) {
        readable_end = ((at + sizeof(PyMemAllocatorEx) - 1) & ~(kPage - 1)) + kPage;
        if (!probe_readable(readable_end - kPage)) return 1;
      }
      auto* const table = reinterpret_cast<PyMemAllocatorEx*>(at);
      if (table->malloc == wrapped[kMem].malloc || table->malloc == wrapped[kObj].malloc) try_table(search.get, table);
    }
  }
  return 1;
}

// A function of the table that is neither the known one nor ours belongs to the program, and stays.
bool is_takable(const FoundTable& found) {
  const PyMemAllocatorEx& before = wrapped[found.domain];
  const PyMemAllocatorEx& ours = ours_of(found.domain);
  const PyMemAllocatorEx& now = *found.table;
  return (now.malloc == before.malloc || now.malloc == ours.malloc) &&
         (now.calloc == before.calloc || now.calloc == ours.calloc) &&
         (now.realloc == before.realloc || now.realloc == ours.realloc) &&
         (now.free == before.free || now.free == ours.free);
}

template <typename Function>
trace::TakenSlot take_function(Function& place, Function ours, Function before) {
  store(place, ours);
  return {reinterpret_cast<std::uint64_t>(&place), reinterpret_cast<std::uint64_t>(ours),
          reinterpret_cast<std::uint64_t>(before)};
}

}  // namespace

void wrap_python_allocators() {
  Definition functions[] = {{"PyMem_GetAllocator"}, {"PyMem_SetAllocator"}};
  find_definitions(functions, 2, SearchFrom::FirstObject);
  if (functions[0].address == nullptr || functions[1].address == nullptr) return;
  const auto get = reinterpret_cast<Get>(functions[0].address);
  const auto set = reinterpret_cast<Set>(functions[1].address);
  for (const Domain domain : {kMem, kObj}) {
    PyMemAllocatorEx& known = wrapped[domain];
    get(domain, &known);
    if (!is_whole(known)) continue;
    PyMemAllocatorEx ours = ours_of(domain);
    ours.context = known.context;
    set(domain, &ours);
  }
}

std::size_t take_python_tables(trace::TakenSlot (&slots)[kPythonSlots]) {
  Definition functions[] = {{"PyMem_GetAllocator"}};
  find_definitions(functions, 1, SearchFrom::FirstObject);
  if (functions[0].address == nullptr) return 0;
  if (functions[0].object != found_in) {
    found_in = functions[0].object;
    const auto get = reinterpret_cast<Get>(functions[0].address);
    for (const Domain domain : {kMem, kObj}) {
      found_tables[domain == kObj] = {};
      get(domain, &wrapped[domain]);
    }
    TableSearch search{get, functions[0].address};
    dl_iterate_phdr(search_tables, &search);
  }
  std::size_t count = 0;
  for (const FoundTable& found : found_tables) {
    if (found.table == nullptr || !is_takable(found)) continue;
    const PyMemAllocatorEx& ours = ours_of(found.domain);
    const PyMemAllocatorEx& before = wrapped[found.domain];
    PyMemAllocatorEx& table = *found.table;
    // The free first: a block whose free isn't seen would live for ever.
    slots[count++] = take_function(table.free, ours.free, before.free);
    slots[count++] = take_function(table.realloc, ours.realloc, before.realloc);
    slots[count++] = take_function(table.calloc, ours.calloc, before.calloc);
    slots[count++] = take_function(table.malloc, ours.malloc, before.malloc);
  }
  return count;
}

}  // namespace tare::recorder
