// The bytes of a UTF-16 text, on the stack if it is short.
#pragma once

#include <cstdlib>
#include <string_view>

#include "lib/atoms/utf16.h"
#include "tare/atom_table.h"
#include "tare/internal/shared_header.h"

namespace tare::inline TARE_ABI {

class Bytes16 {
 public:
  explicit Bytes16(std::u16string_view text) {
    char* to = on_stack_;
    if (text.size() > kOnStack / utf16::kMostBytesPerUnit) {
      if (text.size() > SharedHeader::kLargestSize) {
        error_ = AtomError::TooLong;
        return;
      }
      to = static_cast<char*>(std::malloc(text.size() * utf16::kMostBytesPerUnit));  // NOLINT
      if (to == nullptr) {
        error_ = AtomError::NoMemory;
        return;
      }
      on_heap_ = to;
    }
    text_ = {to, utf16::to_bytes(text, to)};
  }
  ~Bytes16() { std::free(on_heap_); }  // NOLINT(cppcoreguidelines-no-malloc)
  Bytes16(const Bytes16&) = delete;
  Bytes16& operator=(const Bytes16&) = delete;

  AtomError error() const { return error_; }
  std::string_view text() const { return text_; }

 private:
  static constexpr std::size_t kOnStack = 384;
  char on_stack_[kOnStack];
  char* on_heap_ = nullptr;
  std::string_view text_;
  AtomError error_ = AtomError::None;
};

}  // namespace tare::inline TARE_ABI
