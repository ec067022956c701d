// Reads the table's words a window at a time: see content_words.h.
#include "core/snapshot/content_words.h"

#include <cstring>
#include <span>

namespace tare::core {

using trace::ContentOrigin;
using trace::ContentTable;
using trace::ContentWord;

ContentOrigin ContentWords::origin_of(std::uint64_t address) {
  if (table_ == 0 || !ContentTable::covers(address)) return ContentOrigin::Unknown;
  const std::uint64_t leaf_number = ContentTable::leaf_of(address);
  if (leaf_number != leaf_number_) {
    std::uint8_t bytes[sizeof leaf_];
    leaf_ = 0;
    if (memory_.read(table_ + leaf_number * sizeof leaf_, bytes) == sizeof leaf_)
      std::memcpy(&leaf_, bytes, sizeof leaf_);
    leaf_number_ = leaf_number;
  }
  if (leaf_ == 0) return ContentOrigin::Unknown;
  const std::uint64_t unit = address / ContentTable::kUnit;
  const std::uint64_t window = unit / kWindowWords * kWindowWords;
  if (window != window_) {
    words_.assign(kWindowWords, 0);
    std::vector<std::uint8_t> bytes(kWindowWords * sizeof(std::uint32_t));
    // Unreadable memory counts as zeros: nothing is known about it.
    (void)memory_.read(leaf_ + window % ContentTable::kLeafWords * sizeof(std::uint32_t), bytes);
    std::memcpy(words_.data(), bytes.data(), bytes.size());
    window_ = window;
  }
  return ContentWord::of(words_[unit - window]).origin;
}

}  // namespace tare::core
