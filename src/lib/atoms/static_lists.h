// The process's lists of static atoms, by number.
#pragma once

#include <cstdint>

#include "lib/atoms/sought_text.h"
#include "tare/atom.h"

namespace tare::inline TARE_ABI::static_lists {

// The handle of a list's atom with this text; 0 if it has none. static_hash: the text's.
inline std::uint32_t find(const StaticAtomList& list, const SoughtText& sought, std::uint32_t static_hash) {
  for (std::uint32_t at = static_hash & list.slot_mask;; at = (at + 1) & list.slot_mask) {
    const std::uint32_t slot = list.slots[at];
    if (slot == 0) return 0;
    if ((slot ^ static_hash) >> 16 != 0) continue;
    const std::size_t index = StaticAtomList::index_in(slot);
    if (sought.is_text_of(list.header(index))) return StaticAtomList::atom(list.number, index).handle();
  }
}

}  // namespace tare::inline TARE_ABI::static_lists
