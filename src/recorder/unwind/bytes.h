// Bounds-checked reading of unwind tables: a malformed .eh_frame makes a reader go bad, never a fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tare::recorder {

// Half-open range of addresses that may be read.
struct Range {
  std::uint64_t start = 0;
  std::uint64_t end = 0;

  bool holds(std::uint64_t address, std::uint64_t bytes) const {
    return address >= start && address < end && bytes <= end - address;
  }
};

// The readable, file-backed segments of one loaded object. Tables may only be read inside one of them.
struct Image {
  static constexpr int kMaxRanges = 8;  // objects have two to five PT_LOADs
  Range ranges[kMaxRanges];
  int count = 0;

  void add(Range range) {
    if (count < kMaxRanges && range.start < range.end) ranges[count++] = range;
  }
  const Range* around(std::uint64_t address) const {
    for (int i = 0; i < count; ++i) {
      if (ranges[i].holds(address, 1)) return &ranges[i];
    }
    return nullptr;
  }
};

// DW_EH_PE_*: how .eh_frame encodes a pointer.
namespace pe {
inline constexpr std::uint8_t kOmit = 0xff, kFormat = 0x0f, kApplication = 0x70, kIndirect = 0x80;
inline constexpr std::uint8_t kPcRelative = 0x10, kTextRelative = 0x20, kDataRelative = 0x30, kFunctionRelative = 0x40;
}  // namespace pe

// Reads forward; past the end every read gives 0 and the reader stays bad.
class Reader {
 public:
  Reader(std::uint64_t start, std::uint64_t end) : at_(start), end_(end) {}

  bool bad() const { return bad_; }
  bool done() const { return bad_ || at_ >= end_; }
  std::uint64_t at() const { return at_; }
  std::uint64_t end() const { return end_; }

  template <typename T>
  T fixed() {
    T value{};
    if (bad_ || end_ - at_ < sizeof(T) || at_ > end_) {
      bad_ = true;
      return value;
    }
    // NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): the bytes checked above are mapped ones
    std::memcpy(&value, reinterpret_cast<const void*>(at_), sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  std::uint8_t u8() { return fixed<std::uint8_t>(); }

  std::uint64_t uleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; !bad_; shift += 7) {
      const std::uint8_t byte = u8();
      if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) break;
    }
    return bad_ ? 0 : value;
  }

  std::int64_t sleb() {
    std::uint64_t value = 0;
    unsigned shift = 0;
    std::uint8_t byte = 0;
    do {
      byte = u8();
      if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      shift += 7;
    } while (!bad_ && (byte & 0x80) != 0);
    if (shift < 64 && (byte & 0x40) != 0) value |= ~std::uint64_t{0} << shift;
    return bad_ ? 0 : static_cast<std::int64_t>(value);
  }

  void skip(std::uint64_t bytes) {
    if (bad_ || at_ > end_ || bytes > end_ - at_) {
      bad_ = true;
      return;
    }
    at_ += bytes;
  }

  // For DW_OP_skip and DW_OP_bra: may go back, but not before `start`.
  void jump(std::int64_t distance, std::uint64_t start) {
    const std::uint64_t target = at_ + static_cast<std::uint64_t>(distance);
    if (target < start || target > end_) {
      bad_ = true;
      return;
    }
    at_ = target;
  }

  // The value as encoded, with its base added; indirection is left to the caller (only personality routines use it).
  std::uint64_t encoded(std::uint8_t encoding, std::uint64_t data_base, std::uint64_t function_base) {
    if (encoding == pe::kOmit) return 0;
    const std::uint64_t here = at_;
    std::uint64_t value = 0;
    switch (encoding & pe::kFormat) {
      case 0x00:
      case 0x04:
      case 0x0c:
        value = fixed<std::uint64_t>();
        break;
      case 0x01:
        value = uleb();
        break;
      case 0x02:
        value = fixed<std::uint16_t>();
        break;
      case 0x03:
        value = fixed<std::uint32_t>();
        break;
      case 0x09:
        value = static_cast<std::uint64_t>(sleb());
        break;
      case 0x0a:
        value = static_cast<std::uint64_t>(static_cast<std::int64_t>(fixed<std::int16_t>()));
        break;
      case 0x0b:
        value = static_cast<std::uint64_t>(static_cast<std::int64_t>(fixed<std::int32_t>()));
        break;
      default:
        bad_ = true;
    }
    switch (encoding & pe::kApplication) {
      case 0x00:
        break;
      case pe::kPcRelative:
        value += here;
        break;
      case pe::kDataRelative:
        value += data_base;
        break;
      case pe::kFunctionRelative:
        value += function_base;
        break;
      default:
        bad_ = true;
    }
    return bad_ ? 0 : value;
  }

 private:
  std::uint64_t at_;
  std::uint64_t end_;
  bool bad_ = false;
};

}  // namespace tare::recorder
