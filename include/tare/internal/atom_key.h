// tare/internal/atom_key.h: the words of a text that hashes are made of, and the two hashes of an atom's text.
//
// A text of up to 16 bytes is two words, which may overlap; below 8 bytes both are the text with zeros behind, as atoms
// hold it, so that comparing takes no case for it. Longer ones are read 16 bytes at a time. A 64-by-64-bit product,
// folded, mixes each pair (the idea of wyhash and its relatives).
//
//   seeded_hash  for the tables of dynamic atoms: two secret words are drawn from the system for each table, so that
//                nobody outside can choose texts that collide. Differs from run to run; never shown to callers.
//   static_hash  for the tables that the compiler makes, which can't know a secret and needn't: no text from outside
//                is ever put into them, and how long their searches may get is checked when they are compiled. It reads
//                16 bytes at most, so that asking a static table costs one product beside the seeded hash.
//
// constexpr, no state, any thread.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "tare/version.h"

namespace tare::inline TARE_ABI::atom_details {

// Little-endian at compile time and on the supported machines; elsewhere hashes differ from these, which has no visible
// effect.
template <class Word>
constexpr Word read_word(const char* p) {
  Word word = 0;
  if (std::is_constant_evaluated()) {
    for (std::size_t i = 0; i < sizeof(Word); ++i) {
      word |= static_cast<Word>(Word{static_cast<unsigned char>(p[i])} << (8 * i));
    }
  } else {
    std::memcpy(&word, p, sizeof(Word));
    if constexpr (std::endian::native == std::endian::big) {
      Word swapped = 0;
      for (std::size_t i = 0; i < sizeof(Word); ++i)
        swapped = static_cast<Word>(swapped << 8 | ((word >> (8 * i)) & 255));
      word = swapped;
    }
  }
  return word;
}

struct KeyWords {
  std::uint64_t first;
  std::uint64_t last;
};

// The first and the last 8 bytes, which are the whole text if it's shorter than 17; the text itself, twice, if it's
// shorter than 8.
constexpr KeyWords key_words(std::string_view text) {
  const std::size_t n = text.size();
  const char* p = text.data();
  if (n >= 8) return {read_word<std::uint64_t>(p), read_word<std::uint64_t>(p + n - 8)};
  std::uint64_t word = 0;
  if (n >= 4) {
    word = read_word<std::uint32_t>(p) | std::uint64_t{read_word<std::uint32_t>(p + n - 4)} << (8 * (n - 4));
  } else if (n != 0) {
    const auto byte = [p](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(p[i])} << (8 * i); };
    word = byte(0) | byte(n / 2) | byte(n - 1);
  }
  return {word, word};
}

__extension__ using Product = unsigned __int128;

constexpr std::uint64_t fold_product(std::uint64_t a, std::uint64_t b) {
  const Product product = Product{a} * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

struct HashSecret {
  std::uint64_t a = 0;
  std::uint64_t b = 0;
};

inline constexpr std::uint64_t kOddWord = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio

// `words` are the text's key_words. One product for up to 16 bytes: the length goes in multiplied, so that texts of
// different lengths can't be made to collide without the secret.
constexpr std::uint64_t seeded_hash(std::string_view text, const KeyWords& words, const HashSecret& secret) {
  std::uint64_t state = secret.b + text.size() * kOddWord;
  if (text.size() > 16) {
    const char* p = text.data();
    std::size_t left = text.size();
    for (; left > 16; left -= 16, p += 16) {
      state = fold_product(read_word<std::uint64_t>(p) ^ secret.a, read_word<std::uint64_t>(p + 8) ^ state) + secret.b;
    }
    // The last 16 bytes, which overlap the ones already read.
    return fold_product(read_word<std::uint64_t>(p + left - 16) ^ secret.a, words.last ^ state);
  }
  return fold_product(words.first ^ secret.a, words.last ^ state);
}
constexpr std::uint64_t seeded_hash(std::string_view text, const HashSecret& secret) {
  return seeded_hash(text, key_words(text), secret);
}

constexpr std::uint32_t static_hash(std::size_t size_bytes, const KeyWords& words) {
  const std::uint64_t mixed =
      fold_product(words.first ^ 0xA0761D6478BD642F, words.last ^ (0xE7037ED1A0B428DB + size_bytes * kOddWord));
  return static_cast<std::uint32_t>(mixed ^ mixed >> 32);
}
constexpr std::uint32_t static_hash(std::string_view text) { return static_hash(text.size(), key_words(text)); }

}  // namespace tare::inline TARE_ABI::atom_details
