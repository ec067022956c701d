// How many chunks a spool may have: by the user and the file system, the launcher, and the number of threads.
// SPDX-License-Identifier: Apache-2.0
#include "recorder/spool/spool.h"

namespace tare::recorder {

bool Spool::is_limit_open() const {
  return mode_ == SpoolMode::Launched && header_->most_chunks.load(std::memory_order_relaxed) == 0 &&
         !is_limit_decided_.load(std::memory_order_relaxed);
}

std::uint32_t Spool::chunk_limit() const {
  if (mode_ != SpoolMode::Launched) return chunk_limit_;
  std::uint32_t most = header_->most_chunks.load(std::memory_order_relaxed);
  if (most == 0) most = is_limit_open() ? trace::kUndecidedChunks : chunk_limit_;
  if (most > chunk_limit_) most = chunk_limit_;
  return most > least_chunks_ ? most : least_chunks_;
}

void Spool::allow_chunks(std::uint32_t chunks) {
  if (chunks > file_chunks_) chunks = file_chunks_;
  if (chunks > least_chunks_) least_chunks_ = chunks;
}

}  // namespace tare::recorder
