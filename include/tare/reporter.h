/* tare/reporter.h: reports owners of blocks and the blocks of pools to the recorder. C and C++, nothing to link.
 *
 *   #include <tare/reporter.h>
 *
 *   void measure(const struct cache *cache) {        // in a measurement of the program
 *     tare_clear_reports();
 *     for (entry = cache->first; entry; entry = entry->next) tare_report(entry, "explicit/cache/entries");
 *   }
 *
 * Under `tare run` each report goes into the recording, where `tare sql` finds it in table `reports`: how many bytes
 * lie under each path, which blocks nobody claims, which two do. Without the recorder every function here is a load, a
 * compare and a jump; nothing is allocated, printed or kept. A size isn't told: the recorder knows what a block takes.
 *
 * This file is all there is: no library is linked for it, and it may be copied into another project. It finds the
 * recorder with one dlsym() in each source file that uses it, at the first call. Plain weak references wouldn't do: a
 * linker settles those of a program for fixed addresses (-fno-pic -no-pie) as null before a recorder can be preloaded.
 * dlsym() itself is referred to weakly, so that statically linked programs, and those for a C library before glibc 2.34
 * that don't link libdl, do nothing instead of failing to link. The failing dlsym() of a program without recorder may
 * leave a text for dlerror(). Where TARE_REPORTER_OFF is defined all functions are empty.
 *
 * A library that was loaded with RTLD_DEEPBIND is heard, but its malloc goes past the recorder: its blocks are unknown
 * to the recorder. When sampling (`tare run --sample`), reports of blocks that weren't sampled are left out; pools are
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

/* What the recorder exports under the name "tare_recorder_v1". Use the functions below; this is how they reach it. */
struct tare_recorder_v1 {
  uint32_t struct_bytes; /* of the recorder's own: what lies beyond isn't there */
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
  void (*holders)(uintptr_t block, uint32_t are_several);
  void (*amount)(const char* path, uint64_t bytes);
};

#if defined(__linux__) && defined(__GNUC__) && !defined(TARE_REPORTER_OFF)
static void* tare_dlsym_(void*, const char*) __attribute__((weakref("dlsym")));

/* The recorder's functions; all null where there is none. */
/* NOLINTBEGIN(modernize-use-nullptr): this is C */
static __inline__ const struct tare_recorder_v1* tare_recorder_(void) {
  static const struct tare_recorder_v1 none = {sizeof(struct tare_recorder_v1), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  static const struct tare_recorder_v1* found; /* null: not looked for yet */
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

/* What a pointer points to isn't read: a new block may be told of before it is written to. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11
#define TARE_ONLY_ADDRESS_(parameter) __attribute__((access(none, parameter)))
#else
#define TARE_ONLY_ADDRESS_(parameter)
#endif

/* Reports. A report says: the live block at `block` belongs to `path`. It stands until tare_clear_reports() or until
 * the block is freed, whichever comes first. Reporting a block twice is what the recorder looks for: report each block
 * once in a round. An address that isn't the start of a live block is recorded as such, and shown. */

/* For measuring: call it for each block, in a round that tare_clear_reports() began. */
TARE_ONLY_ADDRESS_(1)
static __inline__ void tare_report(const void* block, const char* path) {
  (void)block, (void)path;
  TARE_RECORDER_DO_(report, ((uintptr_t)block, path, 0));
}

/* For blocks that nothing can find again later: call it once, when the block has just been allocated. It stands through
 * tare_clear_reports(). */
TARE_ONLY_ADDRESS_(1)
static __inline__ void tare_report_on_alloc(const void* block, const char* path) {
  (void)block, (void)path;
  TARE_RECORDER_DO_(report, ((uintptr_t)block, path, 1));
}

/* Begins a round: what tare_report() said before doesn't stand any more. */
static __inline__ void tare_clear_reports(void) { TARE_RECORDER_DO_(clear_reports, ()); }

/* What the program itself believes that the blocks under `path` take, by its own books. To be said in a round, after
 * the blocks under that path (the path itself, and paths that go on with a slash) were reported. `tare report --mode
 * dark-matter` holds it against what these blocks do take: SQLite's books are 1.15 to 1.2 times too low, because they
 * know requested bytes and no headers. */
static __inline__ void tare_report_amount(const char* path, uint64_t bytes) {
  (void)path, (void)bytes;
  TARE_RECORDER_DO_(amount, (path, bytes));
}

/* Holders. Code that counts who holds a block (buffers shared instead of copied) says so, once when the block is made,
 * and again when somebody else holds it, too. Lens `unshared` tells of which sites no block ever had a second holder:
 * their count is of no use. An address that isn't the start of a live block is ignored. */
TARE_ONLY_ADDRESS_(1)
static __inline__ void tare_tell_holders(const void* block, int are_several) {
  (void)block, (void)are_several;
  TARE_RECORDER_DO_(holders, ((uintptr_t)block, are_several != 0));
}

/* Moments. The recorder's launcher looks at the heap now: what the live blocks hold and what points to them, and notes
 * it under this name; the call returns when that is done (some ms for 10 MiB; after 2 s where the launcher doesn't
 * answer). `tare check --series` takes such moments as checkpoints, `tare sql` has them in table `moments`. A name may
 * be given again; null is the empty name. A recorder without launcher can't look, and does nothing. */
static __inline__ void tare_snapshot(const char* name) {
  (void)name;
  TARE_RECORDER_DO_(snapshot, (name));
}

/* Pools. Code that takes memory in large pieces (by mmap or malloc) and hands it out itself says so, so that what it
 * hands out is recorded like the blocks of malloc, with stacks, and what it holds and doesn't hand out is seen. Sizes
 * are those handed out: a pool with size classes tells the size of the class.
 *
 *   pool = tare_pool_create("nodes");
 *   tare_pool_grow(pool, slab, 65536);     when it got memory
 *   tare_pool_alloc(pool, node, 64);       when it hands a block out; after it is taken from a shared free list
 *   tare_pool_free(pool, node);            when it comes back; before it goes to a shared free list
 *   tare_pool_shrink(pool, slab);          when memory is given back
 *   tare_pool_destroy(pool);               ends its blocks and its memory */

/* A pool by its handle; 0 is none, and ignored by the functions that take one. */
typedef uint64_t tare_pool;

/* 0: there is no recorder, or 65,535 pools exist. A handle isn't valid in a forked child, where it is ignored. */
static __inline__ tare_pool tare_pool_create(const char* name) {
  tare_pool pool = 0;
  (void)name;
#ifdef TARE_RECORDER_PRESENT_
  if (tare_recorder_()->pool_create) pool = tare_recorder_()->pool_create(name);
#endif
  return pool;
}

/* `memory`, of `bytes`, is the pool's from now on. Pieces don't overlap; a piece that grows in place is told as one
 * more that begins where it ended. Memory that is only reserved doesn't count: tell what may be touched. */
TARE_ONLY_ADDRESS_(2)
static __inline__ void tare_pool_grow(tare_pool pool, const void* memory, size_t bytes) {
  (void)memory, (void)bytes;
  if (pool) TARE_RECORDER_DO_(pool_grow, (pool, (uintptr_t)memory, bytes));
}

/* The piece told to begin at `memory` isn't the pool's any more. */
TARE_ONLY_ADDRESS_(2)
static __inline__ void tare_pool_shrink(tare_pool pool, const void* memory) {
  (void)memory;
  if (pool) TARE_RECORDER_DO_(pool_shrink, (pool, (uintptr_t)memory));
}

/* The pool hands out `bytes` at `block`. */
TARE_ONLY_ADDRESS_(2)
static __inline__ void tare_pool_alloc(tare_pool pool, const void* block, size_t bytes) {
  (void)block, (void)bytes;
  if (pool) TARE_RECORDER_DO_(pool_alloc, (pool, (uintptr_t)block, bytes));
}

/* A block comes back. */
TARE_ONLY_ADDRESS_(2)
static __inline__ void tare_pool_free(tare_pool pool, const void* block) {
  (void)block;
  if (pool) TARE_RECORDER_DO_(pool_free, (pool, (uintptr_t)block));
}

/* All blocks come back at once; the pool keeps its memory. */
static __inline__ void tare_pool_reset(tare_pool pool) {
  if (pool) TARE_RECORDER_DO_(pool_reset, (pool));
}

/* The pool is gone, with its blocks and its memory. */
static __inline__ void tare_pool_destroy(tare_pool pool) {
  if (pool) TARE_RECORDER_DO_(pool_destroy, (pool));
}

#undef TARE_ONLY_ADDRESS_
#undef TARE_RECORDER_DO_
#undef TARE_RECORDER_PRESENT_
#endif
