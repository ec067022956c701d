// The contents of a block, read piece by piece: digest and class.
#pragma once

#include <cstdint>
#include <span>

#include "trace/model/moment.h"

namespace tare::core {

// Equal digests mean equal bytes and equal lengths, but for one pair in 2^64.
class Content {
 public:
  // Pieces must be of this size, but for the last: the digest is of pieces.
  static constexpr std::size_t kPieceBytes = 1 << 20;

  explicit Content(std::uint64_t whole_bytes) : digest_(whole_bytes) {}
  void add(std::span<const std::uint8_t> piece);

  std::uint64_t digest() const { return digest_; }
  trace::BlockContent kind() const;

 private:
  void scan_text(std::span<const std::uint8_t> bytes);

  std::uint64_t digest_;
  bool all_zero_ = true;
  bool text_ = true;
  bool text_ended_ = false;      // a zero came: only zeros may follow
  std::uint8_t continuing_ = 0;  // bytes that the UTF-8 character under way still needs
};

}  // namespace tare::core
