// tare/variant/format.h: the two encodings, GVariant's serialization and D-Bus's wire format, as the writers need them.
//
// GVariant: values begin at a multiple of their type's alignment; a container of parts that vary in size has the parts'
// ends behind them, as offsets of 1, 2, 4 or 8 bytes, whichever is enough for the whole. D-Bus: texts and arrays have
// their length in 4 bytes before them, numbers and structs are aligned, structs and entries always to 8.
//
// Numbers are in the order passed to the reader, this machine's by default; GVariant's offsets are little endian
// always.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tare/variant/type.h"
#include "tare/variant/values.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::variant {

template <std::endian kOrder = std::endian::native>
struct GVariantFormat {
  static constexpr bool kIsDBus = false;
  static constexpr std::endian kByteOrder = kOrder;
};

template <std::endian kOrder = std::endian::native>
struct DBusFormat {
  static constexpr bool kIsDBus = true;
  static constexpr std::endian kByteOrder = kOrder;
};

inline constexpr std::size_t kLargestDBusArray = std::size_t{1} << 26;    // bytes
inline constexpr std::size_t kLargestDBusMessage = std::size_t{1} << 27;  // bytes
inline constexpr std::size_t kDeepestDBusValue = 64;                      // containers, variants among them

namespace format_details {

constexpr std::size_t aligned(std::size_t at, std::size_t alignment) { return (at + alignment - 1) & ~(alignment - 1); }

inline std::uint8_t swapped(std::uint8_t value) { return value; }
inline std::uint16_t swapped(std::uint16_t value) { return __builtin_bswap16(value); }
inline std::uint32_t swapped(std::uint32_t value) { return __builtin_bswap32(value); }
inline std::uint64_t swapped(std::uint64_t value) { return __builtin_bswap64(value); }

template <std::size_t kSize>
struct Unsigned;
template <>
struct Unsigned<1> {
  using Of = std::uint8_t;
};
template <>
struct Unsigned<2> {
  using Of = std::uint16_t;
};
template <>
struct Unsigned<4> {
  using Of = std::uint32_t;
};
template <>
struct Unsigned<8> {
  using Of = std::uint64_t;
};

template <typename Number>
void store(char* to, Number number, bool is_swapped) {
  auto bits = std::bit_cast<typename Unsigned<sizeof(Number)>::Of>(number);
  if (is_swapped) bits = swapped(bits);
  std::memcpy(to, &bits, sizeof bits);
}
template <typename Number>
Number load(const char* from, bool is_swapped) {
  typename Unsigned<sizeof(Number)>::Of bits;
  std::memcpy(&bits, from, sizeof bits);
  if (is_swapped) bits = swapped(bits);
  return std::bit_cast<Number>(bits);
}

inline constexpr bool kIsBigEndian = std::endian::native == std::endian::big;

// Bytes of an offset in a GVariant container of `size` bytes, offsets included.
constexpr std::size_t offset_width(std::size_t size) {
  return size <= 0xFF ? (size == 0 ? 0 : 1) : size <= 0xFFFF ? 2 : size <= 0xFFFF'FFFF ? 4 : 8;
}
// Of a container whose parts take `body` bytes, with `count` offsets: the smallest sufficient width. Most are small.
[[gnu::noinline]] constexpr std::size_t wide_offset_width_for(std::size_t body, std::size_t count) {
  return body + 2 * count <= 0xFFFF ? 2 : body + 4 * count <= 0xFFFF'FFFF ? 4 : 8;
}
constexpr std::size_t offset_width_for(std::size_t body, std::size_t count) {
  if (body + count <= 0xFF) [[likely]]
    return 1;
  return wide_offset_width_for(body, count);
}
inline void store_offset(char* to, std::size_t offset, std::size_t width) {
  if (width == 1) {
    *to = static_cast<char>(offset);
  } else if (width == 2) {
    store(to, static_cast<std::uint16_t>(offset), kIsBigEndian);
  } else if (width == 4) {
    store(to, static_cast<std::uint32_t>(offset), kIsBigEndian);
  } else {
    store(to, std::uint64_t{offset}, kIsBigEndian);
  }
}
inline std::size_t load_offset(const char* from, std::size_t width) {
  if (width == 1) return static_cast<unsigned char>(*from);
  if (width == 2) return load<std::uint16_t>(from, kIsBigEndian);
  if (width == 4) return load<std::uint32_t>(from, kIsBigEndian);
  return load<std::uint64_t>(from, kIsBigEndian);
}

// Writes zeros from `at` to the next multiple of `alignment` and returns that. `limit` is where the memory ends. Four
// instructions, which compilers left out of line in large programs: a dictionary took half as long again.
[[gnu::always_inline]] inline std::size_t pad(char* base, std::size_t at, std::size_t alignment, std::size_t limit) {
  const std::size_t to = aligned(at, alignment);
  if (at + 8 <= limit) [[likely]] {
    std::memset(base + at, 0, 8);  // later bytes will overwrite the excess
  } else if (at != to) {
    std::memset(base + at, 0, to - at);
  }
  return to;
}

// Where D-Bus values of a type begin.
constexpr std::size_t dbus_alignment(char code) {
  switch (code) {
    case 'y':
    case 'g':
    case 'v':
      return 1;
    case 'n':
    case 'q':
      return 2;
    case 'x':
    case 't':
    case 'd':
    case '(':
    case '{':
      return 8;
    default:
      return 4;
  }
}

// Bytes of a number in D-Bus; 0 for other types.
constexpr std::size_t dbus_fixed_size(char code) {
  switch (code) {
    case 'b':
      return 4;
    case 's':
    case 'o':
    case 'g':
    case 'v':
    case 'a':
    case '(':
    case '{':
      return 0;
    default:
      return dbus_alignment(code);
  }
}

template <typename Format, TypeText kType>
inline constexpr std::size_t kAlignment =
    Format::kIsDBus ? dbus_alignment(kType[0]) : type_details::shape_at(kType.text).alignment();

// Of types whose values always take the same number of bytes at any place; else 0.
template <typename Format, TypeText kType>
inline constexpr std::size_t kFixedSize =
    Format::kIsDBus ? dbus_fixed_size(kType[0]) : Type::trusted(kType.view()).layout().fixed_size;

}  // namespace format_details
}  // namespace tare::inline TARE_ABI::variant
