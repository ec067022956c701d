// A string built in place, without allocation: for paths and for the one line of an error.
#pragma once

#include <cstdint>
#include <cstring>

namespace tare::recorder {

class Text {
 public:
  Text(char* buffer, std::uint32_t bytes) : buffer_(buffer), capacity_(bytes - 1) { buffer_[0] = '\0'; }

  Text& add_bytes(const char* bytes, std::uint64_t length) {
    if (length > capacity_ - length_) {
      overflowed_ = true;
      length = capacity_ - length_;
    }
    std::memcpy(buffer_ + length_, bytes, length);
    length_ += static_cast<std::uint32_t>(length);
    buffer_[length_] = '\0';
    return *this;
  }
  Text& add(const char* text) { return add_bytes(text, std::strlen(text)); }
  Text& add_number(std::uint64_t value) {
    char digits[20];
    int start = 20;
    do {
      digits[--start] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value != 0);
    return add_bytes(digits + start, static_cast<std::uint64_t>(20 - start));
  }

  const char* c_str() const { return buffer_; }
  std::uint32_t length() const { return length_; }
  bool overflowed() const { return overflowed_; }

 private:
  char* buffer_;
  std::uint32_t capacity_;
  std::uint32_t length_ = 0;
  bool overflowed_ = false;
};

}  // namespace tare::recorder
