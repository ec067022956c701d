// Frees a shared block when its last owner releases it.
#include "tare/internal/shared_header.h"

#include <cstdlib>

#include "lib/atoms/unused_atoms.h"

namespace tare::inline TARE_ABI {

void SharedHeader::after_release(SharedOwner owner, std::uint32_t before) {
  if (before >= kSaturated) {
    references_.store(kImmortal, std::memory_order_relaxed);
  } else if (owner == SharedOwner::Heap) {
    std::free(this);  // NOLINT(cppcoreguidelines-no-malloc): its owner's block begins at the header
  } else {
    count_unused_atom(this);
  }
}

void acquire_characters(const void* characters) { SharedHeader::before(characters)->acquire(); }

void release_characters(const void* characters) { SharedHeader::before(characters)->release(); }

}  // namespace tare::inline TARE_ABI
