// The room of blocks of musl's malloc (mallocng, from musl 1.2.1 on), whose malloc_usable_size returns the request: it
// is read from the allocator's own books.
#pragma once

#include <cstddef>

namespace tare::recorder {

// Is this malloc mallocng? The one before it, and those that others put in its place, hand out at least 16 bytes.
bool is_mallocng(void* (*malloc)(std::size_t), void (*free)(void*), std::size_t (*malloc_usable_size)(void*));

// The bytes of a live block's slot, without the 4 that are its header. musl starts a block later in its slot where
// there is room, so that addresses come back less often: fewer may be left from the block's start. `requested` if the
// books aren't as expected.
std::size_t usable_bytes_by_slot(const void* block, std::size_t requested);

}  // namespace tare::recorder
