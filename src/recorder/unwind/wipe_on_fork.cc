// Caches of the unwinder that a forked child does without.
// SPDX-License-Identifier: Apache-2.0
#include "recorder/base/syscall.h"
#include "recorder/unwind/unwind.h"

namespace tare::recorder {

std::uint64_t Unwinder::unwiped_bytes() const { return -reinterpret_cast<std::uint64_t>(recent_) & (kPage - 1); }

// The kernel copies and write-protects none of these pages at a fork, and both processes are spared 16 page faults.
// They contain nothing but caches: recent rows, and the stack captured before. A part of the first page stays.
void Unwinder::wipe_in_children(bool wanted) {
  if (wanted == wiped_in_children_) return;
  constexpr int kWipeOnFork = 18;
  constexpr int kKeepOnFork = 19;
  const std::uint64_t first = reinterpret_cast<std::uint64_t>(recent_) + unwiped_bytes();
  const std::uint64_t last = (reinterpret_cast<std::uint64_t>(&storage_) + sizeof(storage_)) & ~(kPage - 1);
  const long result = sys::madvise(reinterpret_cast<void*>(first), last - first, wanted ? kWipeOnFork : kKeepOnFork);
  if (!sys::failed(result)) wiped_in_children_ = wanted;
}

}  // namespace tare::recorder
