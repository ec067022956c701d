// tare/static_atoms.h: atoms that the compiler makes. They cost no heap, no start-up and no reference counting.
//
//   inline constexpr std::string_view kTagNames[] = {"div", "span", "class", "id"};     // the one list
//   inline constexpr auto& kTags = tare::static_atoms<kTagNames>;
//   inline constexpr tare::Atom kDiv = kTags["div"];                                    // a constant: handle 1
//
//   tare::AtomTable table({.static_lists = {&kTags.list}});
//   table.intern("div") == kDiv;                                                        // true: found like others
//
// A list is one object in read-only memory: the blocks (the header of shared_header.h, then the characters) and a hash
// table over them. kTags["nosuch"] and a text that occurs twice don't compile.
//
// Lists are numbered, because a handle contains its atom's list: static_atoms<kTagNames> is list 0,
// static_atoms<kOther, 1> is list 1, up to kMostStaticLists. A number belongs to one list in a process, and lists of
// one table mustn't share a text (the first list's atom would be found). A list has up to kMostStaticAtoms texts; 2,000
// compile within clang's default limit of steps of constant evaluation, for more there is -fconstexpr-steps. The cost
// of a list for searches of other texts is too small to measure.
//
// The text of a static atom is available once its list is registered: after the first AtomTable with it was made, or
// after register_static_atoms(). Before, it reads as empty. kTags.text(i) needs no registration.
//
// After Firefox's static atoms (nsGkAtoms), for which a build step generates the table that is a constant here.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tare/atom.h"
#include "tare/internal/atom_key.h"
#include "tare/internal/export.h"
#include "tare/internal/shared_header.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI {

namespace atom_details {

// Called only where constant evaluation must fail; the name is the message.
void a_static_atom_list_has_this_text_twice();
void a_static_atom_list_lacks_this_text();

constexpr std::size_t block_words(std::size_t size_bytes) { return 1 + (size_bytes + 1 + 7) / 8; }

template <std::size_t kCount>
constexpr std::size_t words_for(const std::string_view (&texts)[kCount]) {
  std::size_t words = 0;
  for (const std::string_view text : texts) words += block_words(text.size());
  return words;
}

// The 8 bytes of memory that hold these, lowest address first.
constexpr std::uint64_t packed(const unsigned char (&bytes)[8]) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    const std::size_t shift = std::endian::native == std::endian::little ? 8 * i : 56 - 8 * i;
    word |= std::uint64_t{bytes[i]} << shift;
  }
  return word;
}

constexpr std::uint64_t packed_header(std::uint32_t first, std::uint32_t second) {
  return std::endian::native == std::endian::little ? first | std::uint64_t{second} << 32
                                                    : second | std::uint64_t{first} << 32;
}

}  // namespace atom_details

template <const auto& kTexts, std::uint32_t kNumber = 0>
class StaticAtoms {
  static constexpr std::size_t kCount = sizeof(kTexts) / sizeof(kTexts[0]);
  // At most a third full: 85 % of the texts that aren't there are known by one look.
  static constexpr std::size_t kSlots = std::bit_ceil(kCount * 3);
  static_assert(kCount <= kMostStaticAtoms, "split the list");
  static_assert(kNumber < kMostStaticLists, "too many lists");

  struct Storage {
    alignas(8) std::array<std::uint64_t, atom_details::words_for(kTexts)> words{};
    std::array<std::uint32_t, kCount> offsets{};
    std::array<std::uint32_t, kSlots> slots{};
  };

  static constexpr Storage make() {  // clang before 16 takes no consteval function of a class here
    Storage made;
    std::size_t at = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      const std::string_view text = kTexts[i];
      made.offsets[i] = static_cast<std::uint32_t>(at);
      made.words[at] = atom_details::packed_header(
          SharedHeader::kImmortal, SharedHeader::word(SharedOwner::Static, static_cast<std::uint32_t>(text.size())));
      for (std::size_t j = 0; j < text.size(); j += 8) {
        unsigned char bytes[8] = {};
        for (std::size_t k = 0; k < 8 && j + k < text.size(); ++k) bytes[k] = static_cast<unsigned char>(text[j + k]);
        made.words[at + 1 + j / 8] = atom_details::packed(bytes);
      }
      at += atom_details::block_words(text.size());

      const std::uint32_t hash = atom_details::static_hash(text);
      std::size_t slot = hash & (kSlots - 1);
      for (; made.slots[slot] != 0; slot = (slot + 1) & (kSlots - 1)) {
        if (kTexts[StaticAtomList::index_in(made.slots[slot])] == text) {
          atom_details::a_static_atom_list_has_this_text_twice();
        }
      }
      made.slots[slot] = StaticAtomList::slot_for(hash, i);
    }
    return made;
  }

  static constexpr Storage kStorage = make();

 public:
  // The argument for a table.
  static constexpr StaticAtomList list{kStorage.words.data(),
                                       kStorage.offsets.data(),
                                       kStorage.slots.data(),
                                       static_cast<std::uint32_t>(kSlots - 1),
                                       static_cast<std::uint32_t>(kCount),
                                       kNumber,
                                       static_cast<std::uint32_t>(sizeof(Storage))};

  static constexpr std::size_t size() { return kCount; }
  static constexpr std::string_view text(std::size_t index) { return kTexts[index]; }
  static constexpr Atom at(std::size_t index) { return StaticAtomList::atom(kNumber, index); }

  // The atom of a text that is in the list; else the program doesn't compile.
  consteval Atom operator[](std::string_view text) const {
    for (std::size_t slot = atom_details::static_hash(text) & (kSlots - 1); kStorage.slots[slot] != 0;
         slot = (slot + 1) & (kSlots - 1)) {
      const std::size_t index = StaticAtomList::index_in(kStorage.slots[slot]);
      if (kTexts[index] == text) return at(index);
    }
    atom_details::a_static_atom_list_lacks_this_text();
    return {};
  }
};

template <const auto& kTexts, std::uint32_t kNumber = 0>
inline constexpr StaticAtoms<kTexts, kNumber> static_atoms{};

// Makes the texts of a list's atoms readable. False if another list has that number already. Making a table with the
// list does the same. Any thread.
TARE_API bool register_static_atoms(const StaticAtomList& list);

}  // namespace tare::inline TARE_ABI
