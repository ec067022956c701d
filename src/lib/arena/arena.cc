#include "tare/arena.h"

#include <algorithm>
#include <cstdlib>

#include "lib/arena/pool_log.h"
#include "tare/good_size.h"

namespace tare::inline TARE_ABI {

namespace {

constexpr std::size_t kLargestSize = SIZE_MAX >> 1;  // the largest value of the bit field, and more than any block has

}  // namespace

ArenaSource malloc_source() noexcept {
  return {
      .allocate = [](void*, std::size_t bytes) noexcept { return std::malloc(bytes); },
      .free = [](void*, void* memory, std::size_t) noexcept { std::free(memory); },
      .good_size = [](void*, std::size_t bytes) noexcept { return good_size(bytes); },
      .context = nullptr,
      .memory = ArenaSource::Memory::Heap,
  };
}

// A logged arena shows allocate() no room, so that every block comes by here, and others pay nothing for it.
void* Arena::allocate_slowly(std::size_t bytes, std::size_t alignment) noexcept {
  if (newest_ == nullptr && log_ == nullptr && options_.name != nullptr) log_ = PoolLog::create(options_.name);
  void* memory = take(bytes, alignment);
  if (memory != nullptr && log_ != nullptr) log_->allocated(memory, bytes);
  return memory;
}

void* Arena::take(std::size_t bytes, std::size_t alignment) noexcept {
  const std::uintptr_t place = (top_ - bytes) & ~(alignment - 1);
  if (bytes > room() || place < bottom_of(current_)) return take_from_new_chunk(bytes, alignment);
  go_to(current_, place);
  unpoison(reinterpret_cast<void*>(place), bytes);
  return reinterpret_cast<void*>(place);
}

void* Arena::take_from_new_chunk(std::size_t bytes, std::size_t alignment) noexcept {
  if (bytes > kLargestRequest / 4 || alignment > kLargestRequest / 4) return nullptr;
  // Blocks begin at multiples of 16, and so do chunks' payloads. A request with alignment 16 or less fits if its bytes
  // fit; larger alignments may skip up to one alignment less one byte.
  const std::size_t needed = bytes + (alignment > 16 ? alignment : 0);
  constexpr std::size_t kLeastChunk = 256;  // books of large blocks, 24 bytes, are not to be large themselves
  const std::size_t first = std::max(options_.first_chunk_bytes, kLeastChunk);
  // Half of the present size: documents of 1 KiB to 1 MiB then take 1.18 times the requested bytes. With the whole
  // present size, 1.28 times and 7 calls of malloc instead of 9; with a quarter, 1.16 times and 11 calls.
  const std::size_t usual = std::clamp(committed_bytes_ / 2, first, std::max(first, options_.largest_chunk_bytes));
  Chunk* chunk = nullptr;
  if (current_ != nullptr && needed > usual / 4) {
    chunk = new_large_block(needed);
  } else {
    chunk = new_chunk(std::max(sizeof(Chunk) + needed, usual));
  }
  if (chunk == nullptr) return nullptr;

  const std::uintptr_t bottom = bottom_of(chunk);
  const std::uintptr_t place = (end_of(chunk) - bytes) & ~(alignment - 1);
  assert(place >= bottom);
  poison(reinterpret_cast<void*>(bottom), end_of(chunk) - bottom);
  unpoison(reinterpret_cast<void*>(place), bytes);

  const std::size_t new_room = place - bottom;
  left_behind_bytes_ += std::min(new_room, room());
  if (current_ == nullptr || new_room > room()) go_to(chunk, place);
  return reinterpret_cast<void*>(place);
}

Arena::Chunk* Arena::new_chunk(std::size_t wanted_bytes) noexcept {
  const std::size_t size = options_.source.good_size(options_.source.context, wanted_bytes);
  void* memory = options_.source.allocate(options_.source.context, size);
  if (memory == nullptr) return nullptr;
  newest_ = new (memory) Chunk{.previous = newest_, .size_bytes = size & kLargestSize, .is_apart = 0};
  ++chunk_count_;
  committed_bytes_ += size;
  if (log_ != nullptr) log_->grow(memory, size);
  return newest_;
}

Arena::Chunk* Arena::new_large_block(std::size_t wanted_bytes) noexcept {
  const Mark before = mark();
  void* books = take(sizeof(LargeBlock), alignof(LargeBlock));
  if (books == nullptr) return nullptr;
  const std::size_t size = options_.source.good_size(options_.source.context, wanted_bytes);
  void* memory = options_.source.allocate(options_.source.context, size);
  if (memory == nullptr) {
    rewind(before);
    return nullptr;
  }
  newest_ = new (books) LargeBlock{{.previous = newest_, .size_bytes = size & kLargestSize, .is_apart = 1}, memory};
  ++chunk_count_;
  ++large_count_;
  committed_bytes_ += size;
  if (log_ != nullptr) log_->grow(memory, size);
  return newest_;
}

void Arena::go_to(Chunk* chunk, std::uintptr_t top) noexcept {
  current_ = chunk;
  bottom_ = chunk == nullptr || log_ != nullptr ? top : bottom_of(chunk);
  top_ = top;
}

void Arena::free_chunk(Chunk* chunk) noexcept {
  void* memory = memory_of(chunk);
  const std::size_t size = chunk->size_bytes;
  --chunk_count_;
  if (chunk->is_apart) --large_count_;
  committed_bytes_ -= size;
  if (log_ != nullptr) log_->shrink(memory);
  unpoison(memory, size);
  options_.source.free(options_.source.context, memory, size);
}

// Frees chunks that are newer than `last`, except `kept`. Large blocks first and newest first, because their metadata
// lies in older chunks. Then chunks from the oldest on: glibc gives the heap's top back to the system whenever 128 KiB
// of it are free, which from the newest on is with nearly every chunk.
void Arena::free_down_to(const Chunk* last, const Chunk* kept) noexcept {
  Chunk* oldest = nullptr;
  while (newest_ != last) {
    assert(newest_ != nullptr);  // else the mark is of another arena, or was ended by an earlier rewind() or reset()
    Chunk* chunk = newest_;
    newest_ = chunk->previous;
    if (chunk->is_apart) {
      free_chunk(chunk);
    } else {
      chunk->previous = oldest;
      oldest = chunk;
    }
  }
  while (oldest != nullptr) {
    Chunk* chunk = oldest;
    oldest = chunk->previous;
    if (chunk != kept) free_chunk(chunk);
  }
}

Arena::Mark Arena::mark() const noexcept {
  Mark now;
  now.newest_ = newest_;
  now.current_ = current_;
  now.top_ = top_;
  now.left_behind_bytes_ = left_behind_bytes_;
  now.logged_ = log_ == nullptr ? 0 : log_->count();
  return now;
}

void Arena::rewind(const Mark& mark) noexcept {
  if (log_ != nullptr) log_->free_to(mark.logged_);
  free_down_to(mark.newest_, nullptr);
  go_to(mark.current_, mark.top_);
  left_behind_bytes_ = mark.left_behind_bytes_;
  poison_room();
}

void Arena::poison_room() noexcept {
  if (current_ != nullptr) poison(reinterpret_cast<void*>(bottom_of(current_)), room());
}

void Arena::reset(ArenaReset how) noexcept {
  if (log_ != nullptr) log_->free_to(0);
  // Of the large blocks none is kept: their books lie in chunks that may go.
  Chunk* kept = nullptr;
  for (Chunk* chunk = newest_; chunk != nullptr && how == ArenaReset::Keep; chunk = chunk->previous) {
    if (!chunk->is_apart && (kept == nullptr || chunk->size_bytes > kept->size_bytes)) kept = chunk;
  }
  free_down_to(nullptr, kept);
  left_behind_bytes_ = 0;
  newest_ = kept;
  if (kept != nullptr) kept->previous = nullptr;
  go_to(kept, kept == nullptr ? 0 : end_of(kept));
  poison_room();
}

ArenaUse Arena::use() const noexcept {
  const std::size_t headers = (chunk_count_ - large_count_) * sizeof(Chunk) + large_count_ * sizeof(LargeBlock);
  const std::size_t slack = left_behind_bytes_ + room();
  return {.chunks = chunk_count_,
          .committed_bytes = committed_bytes_,
          .header_bytes = headers,
          .used_bytes = committed_bytes_ - headers - slack,
          .slack_bytes = slack,
          .room_bytes = room()};
}

Arena::~Arena() {
  reset(ArenaReset::Drop);
  PoolLog::destroy(log_);
}

void Arena::swap(Arena& other) noexcept {
  std::swap(options_, other.options_);
  std::swap(bottom_, other.bottom_);
  std::swap(top_, other.top_);
  std::swap(newest_, other.newest_);
  std::swap(current_, other.current_);
  std::swap(chunk_count_, other.chunk_count_);
  std::swap(large_count_, other.large_count_);
  std::swap(committed_bytes_, other.committed_bytes_);
  std::swap(left_behind_bytes_, other.left_behind_bytes_);
  std::swap(log_, other.log_);
}

}  // namespace tare::inline TARE_ABI
