// The blocks that an arena has reported to the recorder: a pool's blocks end one by one, and an arena keeps no list of
// them.
//
// The addresses lie in mappings of the log's own, so that being recorded doesn't add to the heap that is recorded. Only
// arenas with a name have one, and only under the recorder.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tare/reporter.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI {

class PoolLog {
 public:
  // Null where there is no recorder.
  static PoolLog* create(const char* name) noexcept;
  static void destroy(PoolLog* log) noexcept;

  void grow(const void* memory, std::size_t bytes) noexcept { tare_pool_grow(pool_, memory, bytes); }
  void shrink(const void* memory) noexcept { tare_pool_shrink(pool_, memory); }
  void allocated(const void* block, std::size_t bytes) noexcept;
  // Ends the newest blocks, until `count` are left.
  void free_to(std::size_t count) noexcept;
  std::size_t count() const noexcept { return count_; }

 private:
  struct Piece;
  explicit PoolLog(tare_pool pool) noexcept : pool_(pool) {}
  bool add_piece() noexcept;

  tare_pool pool_;
  std::size_t count_ = 0;
  Piece* newest_ = nullptr;
};

}  // namespace tare::inline TARE_ABI
