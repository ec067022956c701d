// Bytes, varints and zigzag: appending without bounds checks that a reader makes up for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tare::trace {

constexpr std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
constexpr std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

inline constexpr std::size_t kMaxVarintBytes = 10;

// Writes at `to`, which has room for kMaxVarintBytes; gives the end. LEB128: 7 bits a byte, lowest first.
inline std::uint8_t* put_varint(std::uint8_t* to, std::uint64_t value) {
  while (value >= 0x80) {
    *to++ = static_cast<std::uint8_t>(value | 0x80);
    value >>= 7;
  }
  *to++ = static_cast<std::uint8_t>(value);
  return to;
}

// Lowest byte first.
inline std::uint8_t* put_fixed64(std::uint8_t* to, std::uint64_t value) {
  for (int i = 0; i < 8; ++i) *to++ = static_cast<std::uint8_t>(value >> (8 * i));
  return to;
}

class ByteWriter {
 public:
  void byte(std::uint8_t value) { bytes_.push_back(value); }
  void varint(std::uint64_t value) {
    std::uint8_t buffer[kMaxVarintBytes];
    append({buffer, put_varint(buffer, value)});
  }
  void fixed32(std::uint32_t value) { fixed(value, 4); }
  void fixed64(std::uint64_t value) { fixed(value, 8); }
  void append(std::span<const std::uint8_t> data) { bytes_.insert(bytes_.end(), data.begin(), data.end()); }
  // Length, then the bytes.
  void text(std::string_view value) {
    varint(value.size());
    append({reinterpret_cast<const std::uint8_t*>(value.data()), value.size()});
  }
  void clear() { bytes_.clear(); }
  std::vector<std::uint8_t>& bytes() { return bytes_; }
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }

 private:
  void fixed(std::uint64_t value, int count) {
    for (int i = 0; i < count; ++i) bytes_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  }
  std::vector<std::uint8_t> bytes_;
};

// Reads untrusted bytes. A read past the end returns zeros and sets failed(): check once after a group of reads.
class ByteReader {
 public:
  ByteReader() = default;
  explicit ByteReader(std::span<const std::uint8_t> bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  std::uint8_t byte() {
    if (at_ == end_) {
      failed_ = true;
      return 0;
    }
    return *at_++;
  }
  std::uint64_t varint() {
    if (at_ != end_ && *at_ < 0x80) return *at_++;
    return long_varint();
  }
  std::uint32_t fixed32() { return static_cast<std::uint32_t>(fixed(4)); }
  std::uint64_t fixed64() { return fixed(8); }
  std::span<const std::uint8_t> take(std::uint64_t count) {
    if (count > remaining()) {
      failed_ = true;
      at_ = end_;
      return {};
    }
    const std::span<const std::uint8_t> result{at_, static_cast<std::size_t>(count)};
    at_ += count;
    return result;
  }
  std::string text() {
    const std::span<const std::uint8_t> bytes = take(varint());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::size_t remaining() const { return static_cast<std::size_t>(end_ - at_); }
  bool failed() const { return failed_; }
  bool at_end() const { return at_ == end_; }

 private:
  std::uint64_t fixed(int count) {
    if (remaining() < static_cast<std::size_t>(count)) {
      failed_ = true;
      at_ = end_;
      return 0;
    }
    std::uint64_t value = 0;
    for (int i = 0; i < count; ++i) value |= std::uint64_t{*at_++} << (8 * i);
    return value;
  }
  std::uint64_t long_varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint8_t next = byte();
      value |= std::uint64_t{next & 0x7fu} << shift;
      if (next < 0x80) return value;
    }
    failed_ = true;  // more than ten bytes
    return 0;
  }

  const std::uint8_t* at_ = nullptr;
  const std::uint8_t* end_ = nullptr;
  bool failed_ = false;
};

}  // namespace tare::trace
