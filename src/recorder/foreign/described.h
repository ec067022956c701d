// Allocators that descriptions name (python/tare/allocators/): their functions are replaced by ones that record.
#pragma once

#include <cstddef>

namespace tare::recorder {

inline constexpr std::size_t kForeignNoteBytes = 256;

// While the process has one thread, and before the program's own code runs. `folder` has the launcher's table. True:
// the program's own malloc is recorded now. `note` gets one line about an allocator that can't be recorded, or stays
// empty. Where the program can't have an allocator of its own, this costs a search of its references.
bool replace_described_allocators(const char* folder, char (&note)[kForeignNoteBytes]);

}  // namespace tare::recorder
