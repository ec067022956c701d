// The range of addresses in which all atoms of the process lie, and which table each of its pages belongs to.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tare/atom_table.h"
#include "tare/cage.h"

namespace tare::inline TARE_ABI::atom_range {

// Reserves the range unless that was done, or tried without success.
AtomError ensure();

// Whole pages for a table. id: 1 to 255.
CageResult<PageRun> allocate(std::size_t size_bytes, std::uint8_t table_id);
void free(const PageRun& run, FreedPages pages);
// Releases pages that were freed and kept to the kernel: neighbours together, which takes fewer calls. 128 KiB stay,
// here as in free(). Releasing and touching a page costs 1.7 us, which was 4 of 45 ns an atom in a table of 10,000
// atoms that is made repeatedly. glibc keeps as much at the end of its heap.
void trim();

std::size_t page_bytes();

// The owner of the page at this address, which lies in the range; 0 if none.
std::uint8_t owner_of(const void* address);
// Leaves the pages without an owner for good: the table is destroyed and has atoms with references.
void abandon(const PageRun& run);

AtomRangeUse use();

// Around a fork, in a child too.
void lock_for_fork();
void unlock_after_fork();

}  // namespace tare::inline TARE_ABI::atom_range
