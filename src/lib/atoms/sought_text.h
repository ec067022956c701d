// The text of a search: its characters, the words from which hashes and comparisons start, and its hash.
#pragma once

#include <cstring>
#include <string_view>

#include "tare/internal/atom_key.h"
#include "tare/internal/shared_header.h"

namespace tare::inline TARE_ABI {

struct SoughtText {
  SoughtText(std::string_view sought, const atom_details::HashSecret& secret)
      : text(sought), words(atom_details::key_words(sought)), hash(atom_details::seeded_hash(sought, words, secret)) {}

  // Up to this size the words contain the whole text. This saves the call of memcmp for 85 % of names and words: 2 ns
  // of a search.
  static constexpr std::size_t kMostWordBytes = 16;

  // True if the block, whose padding is zeros, has the text of `size_bytes` <= kMostWordBytes with these words.
  [[gnu::always_inline]] static bool is_short_text_of(const SharedHeader* block, std::size_t size_bytes,
                                                      const atom_details::KeyWords& words) {
    if (block->size_bytes() != size_bytes) return false;
    const char* characters = block->characters();
    const auto first = atom_details::read_word<std::uint64_t>(characters);
    const auto last = atom_details::read_word<std::uint64_t>(characters + (size_bytes < 8 ? 0 : size_bytes - 8));
    return ((words.first ^ first) | (words.last ^ last)) == 0;
  }

  bool is_text_of(const SharedHeader* block) const {
    if (text.size() <= kMostWordBytes) return is_short_text_of(block, text.size(), words);
    return block->size_bytes() == text.size() && std::memcmp(block->characters(), text.data(), text.size()) == 0;
  }

  std::string_view text;
  atom_details::KeyWords words;
  std::uint64_t hash;
};

}  // namespace tare::inline TARE_ABI
