#include "lib/arena/pool_log.h"

#include <new>

#include "lib/cage/system_pages.h"

namespace tare::inline TARE_ABI {

namespace {

constexpr std::size_t kPieceBytes = std::size_t{64} << 10;
constexpr std::size_t kBlocksInPiece = kPieceBytes / sizeof(void*) - 2;

}  // namespace

struct PoolLog::Piece {
  Piece* previous = nullptr;
  std::size_t count = 0;
  const void* blocks[kBlocksInPiece];
};

PoolLog* PoolLog::create(const char* name) noexcept {
  static_assert(sizeof(Piece) == kPieceBytes);
  const tare_pool pool = tare_pool_create(name);
  if (pool == 0) return nullptr;
  std::byte* memory = system_pages::map_books(system_pages::page_bytes());
  if (memory == nullptr) {
    tare_pool_destroy(pool);
    return nullptr;
  }
  return new (memory) PoolLog(pool);
}

void PoolLog::destroy(PoolLog* log) noexcept {
  if (log == nullptr) return;
  tare_pool_destroy(log->pool_);
  while (log->newest_ != nullptr) {
    Piece* piece = log->newest_;
    log->newest_ = piece->previous;
    system_pages::release(reinterpret_cast<std::byte*>(piece), kPieceBytes);
  }
  system_pages::release(reinterpret_cast<std::byte*>(log), system_pages::page_bytes());
}

bool PoolLog::add_piece() noexcept {
  std::byte* memory = system_pages::map_books(kPieceBytes);
  if (memory == nullptr) return false;
  Piece* piece = new (memory) Piece;
  piece->previous = newest_;
  newest_ = piece;
  return true;
}

// A block that can't be logged isn't reported: its end would never be reported either.
void PoolLog::allocated(const void* block, std::size_t bytes) noexcept {
  if ((newest_ == nullptr || newest_->count == kBlocksInPiece) && !add_piece()) return;
  newest_->blocks[newest_->count++] = block;
  ++count_;
  tare_pool_alloc(pool_, block, bytes);
}

void PoolLog::free_to(std::size_t count) noexcept {
  while (count_ > count) {
    tare_pool_free(pool_, newest_->blocks[--newest_->count]);
    --count_;
    if (newest_->count != 0) continue;
    Piece* piece = newest_;
    newest_ = piece->previous;
    system_pages::release(reinterpret_cast<std::byte*>(piece), kPieceBytes);
  }
}

}  // namespace tare::inline TARE_ABI
