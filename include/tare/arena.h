// tare/arena.h: an arena hands out memory by moving a pointer, and takes it back all at once.
//
//   tare::Arena arena;
//   Token* token = arena.make<Token>(kind, line);                  // null if there is no memory
//   int* counts = arena.make_array<int>(n);                        // n zeros
//   std::string_view name = arena.copy(text);
//   const tare::Arena::Mark before = arena.mark();
//   work(arena);                                                   // scratch
//   arena.rewind(before);
//
// Chunks come from malloc, or from the given ArenaSource. A chunk's metadata, 16 bytes, lies inside the requested size
// class. A chunk is never 2^k and a header more, which on jemalloc and similar allocators wastes a quarter to a half of
// the block ("clownshoes", from the posts on Firefox's arenas: PLArena wasted half of 700 MB on one page). Every
// request is exactly a good_size of the running allocator, so it has no avoidable slop.
//
// The first chunk is small, each further one half as large as all before it together, up to a limit. An object larger
// than a quarter of a chunk gets a block of its own, without metadata in it: 64 KiB request 64 KiB. So no more than a
// quarter of a chunk is ever left behind unused. Chunks that become empty go back to the allocator at once: allocators
// already keep memory for later.
//
// Thread-safety: one thread at a time. Nothing here throws; destructors of objects in the arena aren't run.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tare/internal/export.h"
#include "tare/internal/poison.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI {

class Cage;
class PoolLog;
class ReportSink;

// Where chunks come from. The functions get `context`; they are called by the thread that uses the arena.
struct ArenaSource {
  enum class Memory : std::uint8_t { Heap, Mapped };             // how a reporter counts it: blocks of malloc, or not
  void* (*allocate)(void* context, std::size_t bytes) noexcept;  // at a multiple of 16; null if there is none
  void (*free)(void* context, void* memory, std::size_t bytes) noexcept;
  std::size_t (*good_size)(void* context, std::size_t bytes) noexcept;  // the most for the price of `bytes`
  void* context;
  Memory memory = Memory::Mapped;
};

TARE_API ArenaSource malloc_source() noexcept;          // malloc, free, and tare::good_size
TARE_API ArenaSource cage_source(Cage& cage) noexcept;  // page runs; the cage outlives the arena

struct ArenaOptions {
  // The first request, metadata included, before good_size rounds up. 1 KiB is small enough for an arena in each of
  // many objects; 64 KiB stays below the 128 KiB from which glibc maps each block anew, with a page fault per page.
  std::size_t first_chunk_bytes = 1024;
  std::size_t largest_chunk_bytes = std::size_t{64} << 10;
  ArenaSource source = malloc_source();
  // Under `tare run`, the blocks of an arena with a name are recorded one by one, as the pool of that name (see
  // tare/reporter.h); otherwise its chunks are recorded, as blocks of malloc. Static storage. Costs nothing elsewhere.
  const char* name = nullptr;
};

// All in bytes but `chunks`. committed = headers + used + slack.
struct ArenaUse {
  std::size_t chunks = 0;
  std::size_t committed_bytes = 0;  // requested from the source
  std::size_t header_bytes = 0;     // the arena's books: 16 a chunk, 24 a large block
  std::size_t used_bytes = 0;       // handed out, with the bytes that alignment skipped
  std::size_t slack_bytes = 0;      // not handed out
  std::size_t room_bytes = 0;       // of that, still available; the rest was left behind
};

enum class ArenaReset : std::uint8_t {
  Drop,  // all chunks go back
  Keep,  // all but the largest, which is empty and comes first: for arenas that are filled again and again alike
};

class TARE_API Arena {
  // A block from the source, and the function that returns it. Lies at the block's start, save for large ones.
  struct Chunk {
    Chunk* previous;
    std::size_t size_bytes : 63;  // as requested from the source, metadata included
    std::size_t is_apart : 1;     // this is a LargeBlock
  };
  // Lies in an older chunk: with it the block would no longer fit the size class that its user had in mind.
  struct LargeBlock : Chunk {
    void* memory;
  };
  static_assert(sizeof(Chunk) == 16 && sizeof(LargeBlock) == 24);

 public:
  explicit Arena(const ArenaOptions& options = {}) noexcept : options_(options) {}
  Arena(Arena&& other) noexcept : options_(other.options_) { swap(other); }
  Arena& operator=(Arena&& other) noexcept {  // the chunks of this one are freed when `other` dies
    swap(other);
    return *this;
  }
  ~Arena();

  // `bytes` (0 counts as 1) at a multiple of `alignment`, a power of two. They live until the arena dies, is reset, or
  // is rewound to an earlier mark. Null if the source has no more, or the size is absurd; the arena is as before then.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) noexcept {
    assert(alignment != 0 && (alignment & (alignment - 1)) == 0);
    bytes += bytes == 0;
    // Downwards: aligning is a mask then, and can't overflow.
    if (bytes <= top_ - bottom_) {
      const std::uintptr_t place = (top_ - bytes) & ~(alignment - 1);
      if (place >= bottom_) {
        top_ = place;
        void* memory = reinterpret_cast<void*>(place);
        unpoison(memory, bytes);
        return memory;
      }
    }
    return allocate_slowly(bytes, alignment);
  }

  // An object. Its destructor never runs, so it must be trivial or unnecessary. Null if there is no memory.
  template <class T, class... Arguments>
  [[nodiscard]] T* make(Arguments&&... arguments) {
    static_assert(std::is_trivially_destructible_v<T>, "an arena runs no destructors");
    void* memory = allocate(sizeof(T), alignof(T));
    return memory == nullptr ? nullptr : new (memory) T(std::forward<Arguments>(arguments)...);
  }

  // `count` objects, zero or default constructed. Null if there is no memory or the size overflows.
  template <class T>
  [[nodiscard]] T* make_array(std::size_t count) {
    static_assert(std::is_trivially_destructible_v<T>, "an arena runs no destructors");
    if (count > SIZE_MAX / sizeof(T)) return nullptr;
    void* memory = allocate(count * sizeof(T), alignof(T));
    if (memory == nullptr) return nullptr;
    T* first = static_cast<T*>(memory);
    for (std::size_t i = 0; i < count; ++i) new (static_cast<void*>(first + i)) T();
    return first;
  }

  // A copy of the characters, with a zero behind it that isn't counted. A null view if there is no memory.
  [[nodiscard]] std::string_view copy(std::string_view text) noexcept {
    char* memory = static_cast<char*>(allocate(text.size() + 1, 1));
    if (memory == nullptr) return {};
    if (!text.empty()) std::memcpy(memory, text.data(), text.size());
    memory[text.size()] = '\0';
    return {memory, text.size()};
  }

  // A moment, to which rewind() goes back.
  class Mark {
    friend class Arena;
    Chunk* newest_ = nullptr;
    Chunk* current_ = nullptr;
    std::uintptr_t top_ = 0;
    std::size_t left_behind_bytes_ = 0;
    std::size_t logged_ = 0;
  };
  Mark mark() const noexcept;
  // Frees everything handed out since the mark. Later marks end with it, and reset() ends all.
  void rewind(const Mark& mark) noexcept;

  // Takes back everything.
  void reset(ArenaReset how) noexcept;

  ArenaUse use() const noexcept;

  // Reports the chunks under "chunks", and beside the tree of memory "used" and "slack". For a call-back that runs
  // while no other thread uses the arena: registry.add("explicit/parser/arena", [&](ReportSink& sink) {
  // arena.report(sink); }).
  void report(ReportSink& sink) const;

  void swap(Arena& other) noexcept;

 private:
  static void* memory_of(Chunk* chunk) noexcept {
    return chunk->is_apart ? static_cast<LargeBlock*>(chunk)->memory : chunk;
  }
  static std::uintptr_t bottom_of(Chunk* chunk) noexcept {
    const auto memory = reinterpret_cast<std::uintptr_t>(memory_of(chunk));
    return chunk->is_apart ? memory : memory + sizeof(Chunk);
  }
  static std::uintptr_t end_of(Chunk* chunk) noexcept {
    return reinterpret_cast<std::uintptr_t>(memory_of(chunk)) + chunk->size_bytes;
  }

  std::size_t room() const noexcept { return current_ == nullptr ? 0 : top_ - bottom_of(current_); }

  void* allocate_slowly(std::size_t bytes, std::size_t alignment) noexcept;
  void* take(std::size_t bytes, std::size_t alignment) noexcept;
  void* take_from_new_chunk(std::size_t bytes, std::size_t alignment) noexcept;
  Chunk* new_chunk(std::size_t wanted_bytes) noexcept;
  Chunk* new_large_block(std::size_t wanted_bytes) noexcept;
  void free_chunk(Chunk* chunk) noexcept;
  void free_down_to(const Chunk* last, const Chunk* kept) noexcept;
  void poison_room() noexcept;
  void go_to(Chunk* chunk, std::uintptr_t top) noexcept;

  ArenaOptions options_;
  std::uintptr_t bottom_ = 0;  // the free part of the current chunk lies between; empty for allocate() if it's logged
  std::uintptr_t top_ = 0;
  Chunk* newest_ = nullptr;   // all chunks, newest first
  Chunk* current_ = nullptr;  // with the most room; older than the newest if that is a large block
  std::size_t chunk_count_ = 0;
  std::size_t large_count_ = 0;  // of these
  std::size_t committed_bytes_ = 0;
  std::size_t left_behind_bytes_ = 0;  // in chunks that aren't the current one
  PoolLog* log_ = nullptr;             // of an arena with a name, under the recorder
};

}  // namespace tare::inline TARE_ABI
