// SPDX-License-Identifier: Apache-2.0
// Compresses small pieces by one zstd context a thread. Making a context takes four times as long as compressing the
// dictionary of a process that lives for a moment.
#pragma once

#include <zstd.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tare::trace {

class ZstdPacker {
 public:
  static ZstdPacker& of_this_thread() {
    thread_local ZstdPacker packer;
    return packer;
  }
  ZstdPacker() = default;
  ~ZstdPacker() { ZSTD_freeCCtx(zstd_); }
  ZstdPacker(const ZstdPacker&) = delete;
  ZstdPacker& operator=(const ZstdPacker&) = delete;

  // Empty if the result were no smaller. Valid until the next call.
  std::span<const std::uint8_t> pack(std::span<const std::uint8_t> raw) {
    if (zstd_ == nullptr || raw.size() < kSmallestPacked) return {};
    const std::size_t bound = ZSTD_compressBound(raw.size());
    if (packed_.size() > kKeptBytes && bound <= kKeptBytes) std::vector<std::uint8_t>().swap(packed_);
    if (packed_.size() < bound) packed_.resize(bound);
    const std::size_t size = ZSTD_compressCCtx(zstd_, packed_.data(), packed_.size(), raw.data(), raw.size(), kLevel);
    if (ZSTD_isError(size) != 0 || size >= raw.size()) return {};
    return {packed_.data(), size};
  }

 private:
  static constexpr int kLevel = 1;
  static constexpr std::size_t kSmallestPacked = 48;  // a smaller frame's own bytes eat the gain
  static constexpr std::size_t kKeptBytes = 1 << 20;

  ZSTD_CCtx* zstd_ = ZSTD_createCCtx();
  std::vector<std::uint8_t> packed_;
};

}  // namespace tare::trace
