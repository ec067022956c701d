// The rare parts of Atom: static atoms' blocks, UTF-16, and the mark of issued atoms.
#include "tare/atom.h"

#include <atomic>

#include "lib/atoms/block.h"
#include "lib/atoms/utf16.h"
#include "tare/static_atoms.h"

namespace tare::inline TARE_ABI {

namespace atom_details {

extern TARE_STATE std::atomic<const StaticAtomList*> registered[kMostStaticLists];
constinit std::atomic<const StaticAtomList*> registered[kMostStaticLists]{};

}  // namespace atom_details

using atom_details::registered;

bool register_static_atoms(const StaticAtomList& list) {
  const StaticAtomList* before = nullptr;
  return registered[list.number].compare_exchange_strong(before, &list, std::memory_order_release,
                                                         std::memory_order_acquire) ||
         before == &list;
}

SharedHeader* atom_details::static_header(std::uint32_t handle) {
  static constinit const struct {
    SharedHeader header{SharedOwner::Static, 0, SharedHeader::kImmortal};
    std::uint64_t terminator = 0;
  } empty;
  const std::uint32_t number = (handle - 1) / (kMostStaticAtoms + 1);
  const StaticAtomList* list = handle == 0 ? nullptr : registered[number].load(std::memory_order_acquire);
  // Never written through: holders leave the references of static blocks alone.
  return const_cast<SharedHeader*>(list == nullptr ? &empty.header
                                                   : list->header((handle - 1) % (kMostStaticAtoms + 1)));
}

void atom_details::mark_handed_out(SharedHeader* header) { AtomBlock::mark_handed_out(header); }

std::size_t Atom::copy_utf16(char16_t* out, std::size_t capacity) const {
  return utf16::from_bytes(text(), out, capacity);
}

}  // namespace tare::inline TARE_ABI
