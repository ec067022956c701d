// Looking up the real functions, and telling which allocator they belong to.
#include "recorder/real.h"

#include <atomic>
#include <cstring>

#include <dlfcn.h>
#include <errno.h>

#include "recorder/bootstrap_arena.h"
#include "recorder/syscall.h"

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

BootstrapArena bootstrap_arena;

void* BootstrapArena::allocate(std::size_t bytes, std::size_t align) {
  if (align < 16) align = 16;
  if (bytes > kBytes || align > kBytes) return nullptr;
  const std::size_t need = 16 + bytes + align;
  std::size_t seen = used_.load(std::memory_order_relaxed);
  do {
    if (need > kBytes - seen) return nullptr;
  } while (!used_.compare_exchange_weak(seen, seen + need, std::memory_order_relaxed));
  const std::uintptr_t start = reinterpret_cast<std::uintptr_t>(bytes_) + seen + 16;
  std::size_t* block = reinterpret_cast<std::size_t*>((start + align - 1) & ~(align - 1));
  block[-1] = bytes;
  return block;
}

namespace {

enum class Resolution : int { None, UnderWay, Done };
std::atomic<Resolution> resolution{Resolution::None};

// The functions that serve until the real ones are known. Only what dlsym and the loader may call matters.
void* early_malloc(std::size_t bytes) {
  return resolve_real_functions() ? real.malloc(bytes) : bootstrap_arena.allocate(bytes, 16);
}
void* early_calloc(std::size_t count, std::size_t bytes) {
  if (resolve_real_functions()) return real.calloc(count, bytes);
  std::size_t total;
  return __builtin_mul_overflow(count, bytes, &total) ? nullptr : bootstrap_arena.allocate(total, 16);
}
void* early_realloc(void* old, std::size_t bytes) {
  if (resolve_real_functions()) return real.realloc(old, bytes);
  void* block = bootstrap_arena.allocate(bytes, 16);
  if (block != nullptr && bootstrap_arena.owns(old)) {
    const std::size_t before = bootstrap_arena.size_of(old);
    std::memcpy(block, old, before < bytes ? before : bytes);
  }
  return block;
}
void* early_memalign(std::size_t align, std::size_t bytes) {
  return resolve_real_functions() ? real.memalign(align, bytes) : bootstrap_arena.allocate(bytes, align);
}
void* early_aligned_alloc(std::size_t align, std::size_t bytes) {
  return resolve_real_functions() ? real.aligned_alloc(align, bytes) : bootstrap_arena.allocate(bytes, align);
}
int early_posix_memalign(void** block, std::size_t align, std::size_t bytes) {
  if (resolve_real_functions()) return real.posix_memalign(block, align, bytes);
  *block = bootstrap_arena.allocate(bytes, align);
  return *block == nullptr ? ENOMEM : 0;
}
void early_free(void* block) {
  if (resolve_real_functions()) real.free(block);
}

// The rest: looked up, then called again. A call from inside dlsym gets a failure, which these may always give.
template <auto Member, typename Result, typename... Parameters>
Result early(Parameters... parameters) {
  // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): all are set when it says yes
  if (resolve_real_functions()) return (real.*Member)(parameters...);
  if constexpr (!std::is_void_v<Result>) return Result();
}
template <auto Member, typename Result, typename... Parameters>
constexpr auto early_for(Result (*RealFunctions::*)(Parameters...)) {
  return &early<Member, Result, Parameters...>;
}

// An allocator linked into the program maps its first memory under its own lock, before any constructor of ours. A
// failed look-up (cfree's) makes the loader call that allocator, which would wait for itself. So: straight to the
// kernel, or for the break, which libc keeps a copy of, one look-up that doesn't fail.
long as_libc_says(long result) {
  if (!sys::failed(result)) return result;
  errno = static_cast<int>(-result);
  return -1;
}
void* early_mmap(void* address, std::size_t bytes, int protection, int flags, int fd, long offset) {
  return reinterpret_cast<void*>(
      as_libc_says(sys::mmap(address, bytes, protection, flags, fd, static_cast<std::uint64_t>(offset))));
}
void* early_mremap(void* old, std::size_t old_bytes, std::size_t bytes, int flags, void* wanted) {
  const auto words = [](std::size_t value) { return static_cast<long>(value); };
  return reinterpret_cast<void*>(
      as_libc_says(sys::call(SYS_mremap, sys::word(old), words(old_bytes), words(bytes), flags, sys::word(wanted))));
}
int early_munmap(void* address, std::size_t bytes) {
  return static_cast<int>(as_libc_says(sys::munmap(address, bytes)));
}
int early_mprotect(void* address, std::size_t bytes, int protection) {
  return static_cast<int>(
      as_libc_says(sys::call(SYS_mprotect, sys::word(address), static_cast<long>(bytes), protection)));
}
int early_brk(void* end) { return reinterpret_cast<int (*)(void*)>(next_definition("brk"))(end); }
void* early_sbrk(std::intptr_t change) {
  return reinterpret_cast<void* (*)(std::intptr_t)>(next_definition("sbrk"))(change);
}

void free_plain_sized(void* block, std::size_t) { real.free(block); }
void free_plain_aligned_sized(void* block, std::size_t, std::size_t) { real.free(block); }

constexpr RealFunctions early_functions() {
  RealFunctions functions{};
#define TARE_HOOK(result, name, parameters) functions.name = early_for<&RealFunctions::name>(&RealFunctions::name);
#include "recorder/hooks.def"
  functions.malloc = early_malloc;
  functions.calloc = early_calloc;
  functions.realloc = early_realloc;
  functions.memalign = early_memalign;
  functions.aligned_alloc = early_aligned_alloc;
  functions.posix_memalign = early_posix_memalign;
  functions.free = early_free;
  functions.mmap = early_mmap;
  functions.mmap64 = early_mmap;
  functions.mremap = early_mremap;
  functions.munmap = early_munmap;
  functions.mprotect = early_mprotect;
  functions.brk = early_brk;
  functions.sbrk = early_sbrk;
  return functions;
}

bool has_in(const void* base, const char* symbol) {
  const char* path = nullptr;
  void* found = next_definition(symbol);
  return found != nullptr && object_of(found, &path) == base;
}

void identify_allocator(void* next_malloc) {
  allocator.base = object_of(next_malloc, &allocator.path);
  const char* unused = nullptr;
  const bool has_glibc = &gnu_get_libc_version != nullptr;
  const void* glibc = has_glibc ? object_of(reinterpret_cast<void*>(&gnu_get_libc_version), &unused) : nullptr;
  if (glibc != nullptr && allocator.base == glibc) {
    allocator.kind = trace::AllocatorKind::Glibc;
    // Allocators define glibc's names, too (tcmalloc does): they're used only where they are glibc's.
    if (&__libc_malloc == nullptr || object_of(reinterpret_cast<void*>(&__libc_malloc), &unused) != glibc) return;
    allocator.glibc_headers = true;
  } else if (std::strstr(allocator.path, "jemalloc") != nullptr || has_in(allocator.base, "mallctl")) {
    allocator.kind = trace::AllocatorKind::Jemalloc;
  } else if (std::strstr(allocator.path, "mimalloc") != nullptr || has_in(allocator.base, "mi_malloc")) {
    allocator.kind = trace::AllocatorKind::Mimalloc;
  } else if (std::strstr(allocator.path, "tcmalloc") != nullptr || has_in(allocator.base, "tc_malloc") ||
             has_in(allocator.base, "MallocExtension_ReleaseFreeMemory")) {
    allocator.kind = trace::AllocatorKind::Tcmalloc;
  } else if (std::strstr(allocator.path, "ld-musl") != nullptr) {
    allocator.kind = trace::AllocatorKind::Musl;
  } else {
    allocator.kind = trace::AllocatorKind::Unknown;
  }
}

std::size_t usable_unknown(void*) { return 0; }

__thread bool asking_usable_bytes __attribute__((tls_model("initial-exec"))) = false;

}  // namespace

constinit RealFunctions real = early_functions();
constinit Allocator allocator = {trace::AllocatorKind::Unknown, "", nullptr, false};

void* next_definition(const char* symbol) { return dlsym(RTLD_NEXT, symbol); }

const void* object_of(const void* address, const char** path) {
  Dl_info info = {};
  if (dladdr(address, &info) == 0) return nullptr;
  if (info.dli_fname != nullptr) *path = info.dli_fname;
  return info.dli_fbase;
}

std::size_t ask_usable_bytes(void* block, std::size_t requested) {
  if (asking_usable_bytes) return requested;
  asking_usable_bytes = true;
  const std::size_t usable = real.malloc_usable_size(block);
  asking_usable_bytes = false;
  return usable < requested ? requested : usable;
}

bool resolve_real_functions() {
  Resolution seen = Resolution::None;
  if (!resolution.compare_exchange_strong(seen, Resolution::UnderWay, std::memory_order_acq_rel)) {
    return seen == Resolution::Done;
  }
  RealFunctions found{};
#define TARE_HOOK(result, name, parameters) found.name = reinterpret_cast<result(*) parameters>(next_definition(#name));
#include "recorder/hooks.def"
  identify_allocator(reinterpret_cast<void*>(found.malloc));
  if (allocator.glibc_headers) {
    found.malloc = __libc_malloc;
    found.calloc = __libc_calloc;
    found.realloc = __libc_realloc;
    found.memalign = __libc_memalign;
    found.free = __libc_free;
  }
  if (found.cfree == nullptr) found.cfree = found.free;  // gone from glibc 2.26 on
  if (found.free_sized == nullptr) found.free_sized = free_plain_sized;
  if (found.free_aligned_sized == nullptr) found.free_aligned_sized = free_plain_aligned_sized;
  if (found.malloc_usable_size == nullptr) found.malloc_usable_size = usable_unknown;
  dlerror();  // a failed look-up of ours is nobody's business
  real = found;
  resolution.store(Resolution::Done, std::memory_order_release);
  return true;
}

}  // namespace tare::recorder
