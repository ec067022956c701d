// The pattern that marks bytes as never written, and the search for the end of the written bytes. The recorder fills
// blocks and reads them at their end; snapshots read the program's memory from outside.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

namespace tare::trace {

// The contents of a block before the program wrote to it.
enum class ContentOrigin : std::uint8_t {
  Unknown = 0,  // not filled: unknown
  Filled = 1,   // kFillByte
  // 0 or kFillByte: calloc's blocks, and untouched pages of the kernel. Zeros that the program wrote look the same, so
  // the mark is a lower bound.
  Zeroed = 2,
};

// Eight of these bytes are an invalid address, a negative number and a huge size. So a program that reads unwritten
// memory fails early instead of writing somewhere. The byte ends no ASCII text, and begins no Latin letter in UTF-8.
inline constexpr std::uint8_t kFillByte = 0xdb;
inline constexpr std::uint64_t kFillWord = 0x0101010101010101u * kFillByte;

// In blocks of at least this size, only pages that are present are filled: touching the others would turn 64 MiB that a
// program never uses into 64 MiB of RSS. Below this size, a system call that lists present pages costs more than
// filling.
inline constexpr std::uint64_t kUntouchedBytes = 64 << 10;

namespace content_internal {

inline std::uint64_t word_at(const std::uint8_t* bytes) {
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

template <ContentOrigin kOrigin>
constexpr bool is_unwritten(std::uint8_t byte) {
  return byte == kFillByte || (kOrigin == ContentOrigin::Zeroed && byte == 0);
}

// From the end, 64 bytes at a time, all alike: a block that was written to its end costs one look.
template <ContentOrigin kOrigin>
inline std::uint64_t high_water(const std::uint8_t* bytes, std::uint64_t size) {
  constexpr std::uint64_t kStep = 8;
  while (size >= 8 * kStep) {
    std::uint64_t from_fill = 0;
    std::uint64_t from_zero = 0;
    for (std::uint64_t i = 1; i <= 8; ++i) {
      const std::uint64_t word = word_at(bytes + size - i * kStep);
      from_fill |= word ^ kFillWord;
      from_zero |= word;
    }
    if (from_fill != 0 && (kOrigin == ContentOrigin::Filled || from_zero != 0)) break;
    size -= 8 * kStep;
  }
  while (size >= kStep) {
    const std::uint64_t word = word_at(bytes + size - kStep);
    if (word != kFillWord && (kOrigin == ContentOrigin::Filled || word != 0)) break;
    size -= kStep;
  }
  while (size > 0 && is_unwritten<kOrigin>(bytes[size - 1])) --size;
  return size;
}

}  // namespace content_internal

// One more than the offset of the last byte that was written; 0: none was. A byte written with the pattern's own value
// counts as not written. Of an Unknown block all counts as written.
inline std::uint64_t high_water(std::span<const std::uint8_t> bytes, ContentOrigin origin) {
  switch (origin) {
    case ContentOrigin::Filled:
      return content_internal::high_water<ContentOrigin::Filled>(bytes.data(), bytes.size());
    case ContentOrigin::Zeroed:
      return content_internal::high_water<ContentOrigin::Zeroed>(bytes.data(), bytes.size());
    case ContentOrigin::Unknown:
      break;
  }
  return bytes.size();
}

}  // namespace tare::trace
