// A text that is looked for: its characters, the words of them that hashes and comparisons start from, and its hash.
#pragma once

#include <cstring>
#include <string_view>

#include "tare/atom_key.h"
#include "tare/shared_header.h"

namespace tare {

struct SoughtText {
  SoughtText(std::string_view sought, const atom_details::HashSecret& secret)
      : text(sought), words(atom_details::key_words(sought)), hash(atom_details::seeded_hash(sought, words, secret)) {}

  // Whether the block has this text. The words say it all up to 16 bytes, which spares the call of memcmp for 85 % of
  // names and words: 2 ns of a search.
  bool is_text_of(const SharedHeader* block) const {
    if (block->size_bytes() != text.size()) return false;
    if (text.size() > 16) return std::memcmp(block->characters(), text.data(), text.size()) == 0;
    const atom_details::KeyWords others = atom_details::key_words({block->characters(), text.size()});
    return ((words.first ^ others.first) | (words.last ^ others.last)) == 0;
  }

  std::string_view text;
  atom_details::KeyWords words;
  std::uint64_t hash;
};

}  // namespace tare
