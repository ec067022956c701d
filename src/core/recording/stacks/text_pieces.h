// Text that is handed over in pieces of a mebibyte, so that a file's text never lies in memory.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace tare::core {

using TextSink = std::function<void(std::string_view piece)>;

class TextPieces {
 public:
  explicit TextPieces(const TextSink& sink) : sink_(sink) { text_.reserve(kPieceBytes + kPieceBytes / 4); }

  TextPieces& operator<<(std::string_view text) {
    text_ += text;
    return *this;
  }
  TextPieces& operator<<(std::int64_t number) {
    char digits[24];
    const auto [end, error] = std::to_chars(digits, digits + sizeof digits, number);
    text_.append(digits, end);
    return *this;
  }
  // Where a piece may end.
  void end_of_part() {
    if (text_.size() >= kPieceBytes) flush();
  }
  void flush() {
    if (!text_.empty()) sink_(text_);
    text_.clear();
  }

 private:
  static constexpr std::size_t kPieceBytes = 1 << 20;
  const TextSink& sink_;
  std::string text_;
};

}  // namespace tare::core
