// Bounds-checked reading of little-endian bytes; the first read past the end makes every later one yield zero.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace tare::core {

class ByteReader {
 public:
  ByteReader() = default;
  explicit ByteReader(std::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool failed() const { return failed_; }
  bool at_end() const { return at_ == end_; }
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
  const char* position() const { return at_; }

  template <typename T>
  T fixed() {
    if (left() < sizeof(T)) return fail<T>();
    T value;
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::uint8_t u8() { return fixed<std::uint8_t>(); }
  std::uint16_t u16() { return fixed<std::uint16_t>(); }
  std::uint32_t u32() { return fixed<std::uint32_t>(); }
  std::uint64_t u64() { return fixed<std::uint64_t>(); }

  std::uint64_t uleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; at_ != end_; shift += 7) {
      const auto byte = static_cast<std::uint8_t>(*at_++);
      if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    return fail<std::uint64_t>();
  }
  std::int64_t sleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; at_ != end_;) {
      const auto byte = static_cast<std::uint8_t>(*at_++);
      if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      shift += 7;
      if ((byte & 0x80) == 0) {
        if (shift < 64 && (byte & 0x40) != 0) value |= ~std::uint64_t{0} << shift;
        return static_cast<std::int64_t>(value);
      }
    }
    return fail<std::int64_t>();
  }
  std::string_view take(std::uint64_t count) {
    if (left() < count) return fail<std::string_view>();
    const std::string_view bytes(at_, count);
    at_ += count;
    return bytes;
  }
  std::string_view c_string() {
    const void* nul = at_ == end_ ? nullptr : std::memchr(at_, 0, left());
    if (nul == nullptr) return fail<std::string_view>();
    const std::string_view text(at_, static_cast<std::size_t>(static_cast<const char*>(nul) - at_));
    at_ += text.size() + 1;
    return text;
  }

 private:
  template <typename T>
  T fail() {
    failed_ = true;
    at_ = end_;
    return T{};
  }

  const char* at_ = nullptr;
  const char* end_ = nullptr;
  bool failed_ = false;
};

}  // namespace tare::core
