// A block's contents as a digest and a class, to recognise equal contents without keeping them.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "trace/model/content_pattern.h"

namespace tare::trace {

enum class ContentClass : std::uint8_t {
  Other = 0,
  Text = 1,   // its first bytes are characters, up to a NUL where one ends it
  Zeros = 2,  // nothing but zeros
  None = 3,   // nothing was written
};

// Larger blocks get no digest: a digest of a part would match different blocks, and hashing a large block at its free
// costs more than the program's own work on it. Contents worth sharing are small.
inline constexpr std::uint64_t kMostDigestedBytes = 4096;

// 56 bits: SQL's integers have 63, and as a varint it takes 8 bytes instead of 10. Among a million different contents
// two share a digest with a probability of 10^-5.
inline constexpr std::uint64_t kDigestMask = (std::uint64_t{1} << 56) - 1;

// The first time that a content is freed, a file has 35 bits of its digest: five bytes as a varint. Among a million
// different contents, 15 share a short digest with another. Bit 0 is left out, because snapshots don't store it.
constexpr std::uint64_t short_digest(std::uint64_t digest) { return digest >> 1 & ((std::uint64_t{1} << 35) - 1); }

namespace content_internal {

// Both halves of the 128-bit product folded: every input bit reaches every output bit.
inline std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

inline std::uint64_t half_word_at(const std::uint8_t* bytes) {
  std::uint32_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

inline constexpr std::uint64_t kOdd1 = 0x9e3779b97f4a7c15;
inline constexpr std::uint64_t kOdd2 = 0xbf58476d1ce4e5b9;

}  // namespace content_internal

// Of the bytes and their number. 16 bytes a multiplication. Never 0.
inline std::uint64_t content_digest(std::span<const std::uint8_t> bytes) {
  using content_internal::fold;
  using content_internal::half_word_at;
  using content_internal::kOdd1;
  using content_internal::kOdd2;
  using content_internal::word_at;
  const std::uint8_t* at = bytes.data();
  std::uint64_t left = bytes.size();
  std::uint64_t hash = left * kOdd1 ^ kOdd2;
  for (; left > 16; at += 16, left -= 16) hash = fold(word_at(at) ^ hash, word_at(at + 8) ^ kOdd1);
  // The last 1 to 16 bytes as two words that may overlap: which do is known from the number of bytes.
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  if (left >= 8) {
    low = word_at(at);
    high = word_at(at + left - 8);
  } else if (left >= 4) {
    low = half_word_at(at);
    high = half_word_at(at + left - 4);
  } else if (left > 0) {
    low = at[0] | std::uint64_t{at[left / 2]} << 8;
    high = at[left - 1];
  }
  hash = fold(low ^ hash, high ^ kOdd2);
  hash = fold(hash ^ kOdd2, kOdd1) & kDigestMask;
  return hash == 0 ? 1 : hash;
}

namespace content_internal {

// Bytes of the character that begins at `at`: 0 where none does. UTF-8 by its lead and following bytes' ranges.
inline std::size_t character_bytes(std::span<const std::uint8_t> bytes, std::size_t at) {
  const std::uint8_t first = bytes[at];
  if (first < 0x80) return (first >= 0x20 && first != 0x7f) || (first >= '\t' && first <= '\r') ? 1 : 0;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  for (std::size_t i = 1; i < size && at + i < bytes.size(); ++i) {
    if ((bytes[at + i] & 0xc0) != 0x80) return 0;
  }
  return size;
}

}  // namespace content_internal

// By the first 32 bytes; zeros by all.
inline ContentClass content_class(std::span<const std::uint8_t> bytes) {
  constexpr std::size_t kLooked = 32;
  constexpr std::size_t kPointer = 8;  // the bytes of one look like text often enough: heaps begin at 0x55 'U'
  if (bytes.empty()) return ContentClass::None;
  if (bytes[0] == 0) {
    for (const std::uint8_t byte : bytes) {
      if (byte != 0) return ContentClass::Other;
    }
    return ContentClass::Zeros;
  }
  std::size_t end = 0;
  while (end < bytes.size() && end < kLooked && bytes[end] != 0) {
    const std::size_t size = content_internal::character_bytes(bytes, end);
    if (size == 0) return ContentClass::Other;
    end += size;
  }
  const bool is_whole = end + 1 >= bytes.size();
  return end >= kPointer || (is_whole && end >= 3) ? ContentClass::Text : ContentClass::Other;
}

}  // namespace tare::trace
