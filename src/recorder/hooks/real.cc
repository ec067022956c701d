// Looks up the real functions, and identifies their allocator.
#include "recorder/hooks/real.h"

#include <atomic>
#include <cstring>

#include "recorder/hooks/musl_functions.h"
#include "recorder/hooks/musl_slots.h"
#include "recorder/unwind/definitions.h"

// glibc's own entry points: with them glibc's heap is reached without the hooks even where a program's symbols get in
// the way.
extern "C" {
__attribute__((weak)) void* __libc_malloc(std::size_t);
__attribute__((weak)) void* __libc_calloc(std::size_t, std::size_t);
__attribute__((weak)) void* __libc_realloc(void*, std::size_t);
__attribute__((weak)) void* __libc_memalign(std::size_t, std::size_t);
__attribute__((weak)) void __libc_free(void*);
__attribute__((weak)) const char* gnu_get_libc_version();  // lies in glibc and nowhere else
}

namespace tare::recorder {
namespace {

std::atomic<bool> resolved{false};

// Serve until the real functions are known: each looks them up, then calls its own again.
template <auto Member, typename Result, typename... Parameters>
Result early(Parameters... parameters) {
  resolve_real_functions();
  return (real.*Member)(parameters...);  // NOLINT(clang-analyzer-core.CallAndMessage): set by now
}
template <auto Member, typename Result, typename... Parameters>
constexpr auto early_for(Result (*RealFunctions::*)(Parameters...)) {
  return &early<Member, Result, Parameters...>;
}

constexpr RealFunctions early_functions() {
  RealFunctions functions{};
#define TARE_HOOK(result, name, parameters) functions.name = early_for<&RealFunctions::name>(&RealFunctions::name);
#include "recorder/hooks/hooks.def"
  return functions;
}

// Every look-up is in this one list, and made in one pass.
enum Wanted : int {
#define TARE_HOOK(result, name, parameters) kReal_##name,
#include "recorder/hooks/hooks.def"
  kJemallocs,
  kMimallocs,
  kTcmallocs,
  kNewTcmallocs,
  kWanted,
};

void (*program_free)(void*) = nullptr;  // the target of a reference to free, except for the recorder's own

// If a C library lacks these, a program may still find them in this library. free() needs no size.
void free_plain_sized(void* block, std::size_t) { program_free(block); }
void free_plain_aligned_sized(void* block, std::size_t, std::size_t) { program_free(block); }

Allocator identify_allocator(const Definition (&definitions)[kWanted]) {
  const Definition& malloc = definitions[kReal_malloc];
  const auto lies_beside_malloc = [&](Wanted which) {
    return definitions[which].address != nullptr && definitions[which].object == malloc.object;
  };
  Allocator found{trace::AllocatorKind::Unknown, malloc.path, malloc.object, false, false, false};
  const bool has_glibc = &gnu_get_libc_version != nullptr;
  const void* glibc = has_glibc ? object_around(reinterpret_cast<void*>(&gnu_get_libc_version)) : nullptr;
  if (glibc != nullptr && found.base == glibc) {
    found.kind = trace::AllocatorKind::Glibc;
    // Allocators define glibc's names, too (tcmalloc does): they're used only where they are glibc's.
    found.glibc_headers = &__libc_malloc != nullptr && object_around(reinterpret_cast<void*>(&__libc_malloc)) == glibc;
  } else if (std::strstr(found.path, "jemalloc") != nullptr || lies_beside_malloc(kJemallocs)) {
    found.kind = trace::AllocatorKind::Jemalloc;
  } else if (std::strstr(found.path, "mimalloc") != nullptr || lies_beside_malloc(kMimallocs)) {
    found.kind = trace::AllocatorKind::Mimalloc;
  } else if (std::strstr(found.path, "tcmalloc") != nullptr || lies_beside_malloc(kTcmallocs) ||
             lies_beside_malloc(kNewTcmallocs)) {
    found.kind = trace::AllocatorKind::Tcmalloc;
  } else if (std::strstr(found.path, "ld-musl") != nullptr) {
    found.kind = trace::AllocatorKind::Musl;
  }
  return found;
}

std::size_t usable_unknown(void*) { return 0; }

__thread bool asking_usable_bytes __attribute__((tls_model("initial-exec"))) = false;

}  // namespace

constinit RealFunctions real = early_functions();
constinit Allocator allocator = {trace::AllocatorKind::Unknown, "", nullptr, false, false, false};

std::size_t query_usable_bytes(void* block, std::size_t requested) {
  if (allocator.musl_slots) return usable_bytes_by_slot(block, requested);
  if (asking_usable_bytes) return requested;
  asking_usable_bytes = true;
  const std::size_t usable = real.malloc_usable_size(block);
  asking_usable_bytes = false;
  return usable < requested ? requested : usable;
}

// Without a lock: another thread that comes meanwhile, or an allocator called from within, looks up the same functions
// and stores the same values.
void resolve_real_functions() {
  if (resolved.load(std::memory_order_acquire)) return;
  Definition definitions[kWanted] = {
#define TARE_HOOK(result, name, parameters) {#name},
#include "recorder/hooks/hooks.def"
      {"mallctl"},
      {"mi_malloc"},
      {"tc_malloc"},
      {"MallocExtension_ReleaseFreeMemory"},
  };
  find_definitions(definitions, kWanted, SearchFrom::BehindTheRecorder);
  Definition programs[] = {{"malloc"}, {"free"}};
  find_definitions(programs, 2, SearchFrom::FirstObject);

  static const char here = 0;
  const void* const own = object_around(&here);
  RealFunctions found{};
#define TARE_HOOK(result, name, parameters) \
  found.name = reinterpret_cast<result(*) parameters>(definitions[kReal_##name].address);
#include "recorder/hooks/hooks.def"
  allocator = identify_allocator(definitions);
  const void* const expected = was_loaded_late() ? definitions[kReal_malloc].object : own;
  allocator.bypassed = programs[0].address != nullptr && programs[0].object != expected;
  if (allocator.glibc_headers) {
    found.malloc = __libc_malloc;
    found.calloc = __libc_calloc;
    found.realloc = __libc_realloc;
    found.memalign = __libc_memalign;
    found.free = __libc_free;
  }
  const bool frees_itself = programs[1].address != nullptr && programs[1].object != own;
  program_free = frees_itself ? reinterpret_cast<void (*)(void*)>(programs[1].address) : found.free;
  if (found.cfree == nullptr) found.cfree = program_free;  // gone from glibc 2.26 on
  if (found.free_sized == nullptr) found.free_sized = free_plain_sized;
  if (found.free_aligned_sized == nullptr) found.free_aligned_sized = free_plain_aligned_sized;
  if (found._Fork == nullptr) found._Fork = found.fork;  // glibc has it from 2.34 on
  if (found.malloc_usable_size == nullptr) found.malloc_usable_size = usable_unknown;
  if (allocator.kind == trace::AllocatorKind::Musl) {
    allocator.musl_slots = is_mallocng(found.malloc, found.free, found.malloc_usable_size);
    if (!allocator.musl_slots) allocator.kind = trace::AllocatorKind::Unknown;  // its headers aren't those of mallocng
    use_musl_functions(found);
  }
  real = found;
  resolved.store(true, std::memory_order_release);
}

}  // namespace tare::recorder
