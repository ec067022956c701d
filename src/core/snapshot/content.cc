// Digest and kind of contents: see content.h.
#include "core/snapshot/content.h"

#include <algorithm>

#include "trace/base/checksum.h"

namespace tare::core {

using trace::BlockContent;

void Content::scan_text(std::span<const std::uint8_t> bytes) {
  for (const std::uint8_t byte : bytes) {
    if (text_ended_) {
      text_ = byte == 0;
    } else if (continuing_ > 0) {
      text_ = (byte & 0xc0) == 0x80;
      --continuing_;
    } else if (byte == 0) {
      text_ended_ = true;
    } else if (byte < 0x80) {
      text_ = byte >= 0x20 ? byte != 0x7f : byte >= '\t' && byte <= '\r';
    } else {
      continuing_ = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : 1;
      text_ = byte >= 0xc2 && byte < 0xf5;
    }
    if (!text_) return;
  }
}

void Content::add(std::span<const std::uint8_t> piece) {
  digest_ = trace::xxh64(piece, digest_);
  if (all_zero_) all_zero_ = std::all_of(piece.begin(), piece.end(), [](std::uint8_t byte) { return byte == 0; });
  if (text_) scan_text(piece);
}

BlockContent Content::kind() const {
  if (all_zero_) return BlockContent::Zeros;
  return text_ && continuing_ == 0 ? BlockContent::Text : BlockContent::Other;
}

}  // namespace tare::core
