/* tare/reporter.h: reports owners of blocks and the blocks of pools to the recorder. C and C++, nothing to link.
 *
 *   #include <tare/reporter.h>
 *
 *   void measure(const struct cache *cache) {        // in a measurement of the program
 *     tare_clear_reports();
 *     for (entry = cache->first; entry; entry = entry->next) tare_report(entry, "explicit/cache/entries");
 *   }
 *
 * Under `tare run` each report is recorded, and table `reports` of `tare sql` has a row for it. The table gives the
 * bytes under each path, the blocks without a report, and the blocks with two. Without a recorder every function here
 * is a load, a compare and a jump, and has no effect. Reports have no sizes: the recorder has the size of each block.
 *
 * This file needs no library and may be copied into another project. It finds the recorder with one dlsym() in each
 * source file that uses it, at the first call. Weak references to the recorder would not work: a linker resolves those
 * of a program for fixed addresses (-fno-pic -no-pie) to null before a recorder can be preloaded. The reference to
 * dlsym() is weak. So statically linked programs link, and so do programs without libdl for a C library before
 * glibc 2.34; in them the functions have no effect. If no recorder is loaded, the failing dlsym() may leave a text for
 * dlerror(). If TARE_REPORTER_OFF is defined, all functions are empty.
 *
 * Reports of a library that was loaded with RTLD_DEEPBIND are recorded. Its calls of malloc bypass the recorder, so its
 * blocks are unknown. When sampling (`tare run --sample`), reports of blocks outside the sample are dropped; pools are
 * recorded in full.
 *
 * Every function may be called from any thread, but not from signal handlers. Null pointers are ignored. Names and
 * paths are copied; those longer than 4,000 bytes are cut there. Linux, gcc or clang, C89 on. The reports follow those
 * of Firefox's DMD, the pools valgrind's MEMPOOL requests.
 */
#ifndef TARE_REPORTER_H_
#define TARE_REPORTER_H_

#include <stddef.h>
#include <stdint.h>

/* The recorder exports one of these under the name "tare_recorder_v1", for the functions below. */
struct tare_recorder_v1 {
  uint32_t struct_bytes; /* of the recorder's version: later members are missing */
  uint32_t reserved;
  void (*report)(uintptr_t block, const char* path, uint32_t is_on_alloc);
  void (*clear_reports)(void);
  uint64_t (*pool_create)(const char* name);
  void (*pool_grow)(uint64_t pool, uintptr_t memory, size_t bytes);
  void (*pool_shrink)(uint64_t pool, uintptr_t memory);
  void (*pool_alloc)(uint64_t pool, uintptr_t block, size_t bytes);
  void (*pool_free)(uint64_t pool, uintptr_t block);
  void (*pool_reset)(uint64_t pool);
  void (*pool_destroy)(uint64_t pool);
  void (*snapshot)(const char* name);
  void (*sharing)(uintptr_t block, uint32_t are_several);
  void (*amount)(const char* path, uint64_t bytes);
};

#if defined(__linux__) && defined(__GNUC__) && !defined(TARE_REPORTER_OFF)
static void* tare_dlsym_(void*, const char*) __attribute__((weakref("dlsym")));

/* The recorder's functions; all null without a recorder. */
/* NOLINTBEGIN(modernize-use-nullptr): this is C */
static __inline__ const struct tare_recorder_v1* tare_recorder_(void) {
  static const struct tare_recorder_v1 none = {sizeof(struct tare_recorder_v1), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  static const struct tare_recorder_v1* found; /* null before the first search */
  const struct tare_recorder_v1* recorder = __atomic_load_n(&found, __ATOMIC_ACQUIRE);
  if (__builtin_expect(recorder == 0, 0)) {
    if (tare_dlsym_) recorder = (const struct tare_recorder_v1*)tare_dlsym_((void*)0, "tare_recorder_v1");
    if (recorder == 0 || recorder->struct_bytes < sizeof(struct tare_recorder_v1)) recorder = &none;
    __atomic_store_n(&found, recorder, __ATOMIC_RELEASE);
  }
  return recorder;
}
/* NOLINTEND(modernize-use-nullptr) */
#define TARE_RECORDER_PRESENT_
#define TARE_RECORDER_DO_(function, arguments)                  \
  do {                                                          \
    const struct tare_recorder_v1* recorder = tare_recorder_(); \
    if (recorder->function) recorder->function arguments;       \
  } while (0)
#else
#define TARE_RECORDER_DO_(function, arguments) (void)0
#endif

/* The functions read no memory behind the pointer: a block may be reported before anything is written to it. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11
#define TARE_ONLY_ADDRESS_(parameter) __attribute__((access(none, parameter)))
#else
#define TARE_ONLY_ADDRESS_(parameter)
#endif

/* Reports. A report assigns the live block at `block` to `path`. It is valid until tare_clear_reports() or until the
 * block is freed, whichever comes first. Report each block once in a round: a second report counts as a mistake of the
 * program. A report of an address that isn't the start of a live block is recorded, and reports show it as such. */

/* For measurements: call it for each block, in a round that tare_clear_reports() began. */
TARE_ONLY_ADDRESS_(1)
static __inline__ void tare_report(const void* block, const char* path) {
  (void)block, (void)path;
  TARE_RECORDER_DO_(report, ((uintptr_t)block, path, 0));
}

/* For blocks that a later measurement can't find: call it once, after the allocation. It stays valid after
 * tare_clear_reports(). */
TARE_ONLY_ADDRESS_(1)
static __inline__ void tare_report_on_alloc(const void* block, const char* path) {
  (void)block, (void)path;
  TARE_RECORDER_DO_(report, ((uintptr_t)block, path, 1));
}

/* Begins a round: earlier reports of tare_report() become invalid. */
static __inline__ void tare_clear_reports(void) { TARE_RECORDER_DO_(clear_reports, ()); }

/* Reports the bytes that the program's own accounting has for the blocks under `path`. Call it in a round, after the
 * reports of the blocks under that path (the path itself, and paths that continue with a slash). `tare report --mode
 * dark-matter` compares it with the usable bytes of these blocks. SQLite's figures are 1.15 to 1.2 times too low,
 * because they count requested bytes without headers. */
static __inline__ void tare_report_amount(const char* path, uint64_t bytes) {
  (void)path, (void)bytes;
  TARE_RECORDER_DO_(amount, (path, bytes));
}

/* Sharing. For blocks with a count of owners, such as buffers that are shared instead of copied: call it once after the
 * allocation with 0, and once when the block gets a second owner with 1. Lens `unshared` finds sites whose blocks never
 * had a second owner: their counts are useless. An address that isn't the start of a live block is ignored. */
TARE_ONLY_ADDRESS_(1)
static __inline__ void tare_report_sharing(const void* block, int are_several) {
  (void)block, (void)are_several;
  TARE_RECORDER_DO_(sharing, ((uintptr_t)block, are_several != 0));
}

/* Snapshots. The launcher reads the contents of all live blocks and the pointers to them, and records them under this
 * name. The call returns after that: a few ms for 10 MiB, or 2 s if the launcher doesn't answer. Snapshots are
 * checkpoints of `tare check --series`, and rows of table `snapshots` of `tare sql`. Several snapshots may have one
 * name; null is the empty name. Without a launcher the call has no effect. */
static __inline__ void tare_snapshot(const char* name) {
  (void)name;
  TARE_RECORDER_DO_(snapshot, (name));
}

/* Pools. For code that gets memory in large pieces, by mmap or malloc, and divides it into blocks itself. The blocks
 * are recorded with stacks, like blocks of malloc, and the unused rest of the pool's memory is its slop. Sizes are
 * those of the blocks: a pool with size classes passes the size of the class.
 *
 *   pool = tare_pool_create("nodes");
 *   tare_pool_grow(pool, slab, 65536);     after getting memory
 *   tare_pool_alloc(pool, node, 64);       after an allocation: when the block has left a shared free list
 *   tare_pool_free(pool, node);            before a free: while the block isn't in a shared free list
 *   tare_pool_shrink(pool, slab);          before releasing memory
 *   tare_pool_destroy(pool);               ends its blocks and its memory */

/* The handle of a pool. The functions ignore 0, which is no pool. */
typedef uint64_t tare_pool;

/* Returns 0 without a recorder, or if 65,535 pools exist. In a forked child the handle is invalid, and ignored. */
static __inline__ tare_pool tare_pool_create(const char* name) {
  tare_pool pool = 0;
  (void)name;
#ifdef TARE_RECORDER_PRESENT_
  if (tare_recorder_()->pool_create) pool = tare_recorder_()->pool_create(name);
#endif
  return pool;
}

/* Adds the piece of `bytes` at `memory` to the pool. Pieces must not overlap. If a piece grows in place, add its new
 * part as another piece. Leave out memory that is only reserved: the program must be able to touch all of a piece. */
TARE_ONLY_ADDRESS_(2)
static __inline__ void tare_pool_grow(tare_pool pool, const void* memory, size_t bytes) {
  (void)memory, (void)bytes;
  if (pool) TARE_RECORDER_DO_(pool_grow, (pool, (uintptr_t)memory, bytes));
}

/* Removes the piece that begins at `memory` from the pool. */
TARE_ONLY_ADDRESS_(2)
static __inline__ void tare_pool_shrink(tare_pool pool, const void* memory) {
  (void)memory;
  if (pool) TARE_RECORDER_DO_(pool_shrink, (pool, (uintptr_t)memory));
}

/* Records the allocation of a block of `bytes` at `block` from the pool. */
TARE_ONLY_ADDRESS_(2)
static __inline__ void tare_pool_alloc(tare_pool pool, const void* block, size_t bytes) {
  (void)block, (void)bytes;
  if (pool) TARE_RECORDER_DO_(pool_alloc, (pool, (uintptr_t)block, bytes));
}

/* Records the free of a block. */
TARE_ONLY_ADDRESS_(2)
static __inline__ void tare_pool_free(tare_pool pool, const void* block) {
  (void)block;
  if (pool) TARE_RECORDER_DO_(pool_free, (pool, (uintptr_t)block));
}

/* Records the free of all blocks at once; the pool keeps its memory. */
static __inline__ void tare_pool_reset(tare_pool pool) {
  if (pool) TARE_RECORDER_DO_(pool_reset, (pool));
}

/* Ends the pool, its blocks and its memory. */
static __inline__ void tare_pool_destroy(tare_pool pool) {
  if (pool) TARE_RECORDER_DO_(pool_destroy, (pool));
}

#undef TARE_ONLY_ADDRESS_
#undef TARE_RECORDER_DO_
#undef TARE_RECORDER_PRESENT_
#endif
