// The range of addresses in which all atoms of the process lie, and which table each of its pages belongs to.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tare/atom_table.h"
#include "tare/cage.h"

namespace tare::atom_range {

// Reserves the range unless that was done, or tried without success.
AtomError ensure();

// Whole pages for a table. id: 1 to 255.
CageResult<PageRun> allocate(std::size_t size_bytes, std::uint8_t table_id);
void free(const PageRun& run, FreedPages pages);
// Returns to the system what was freed and kept: neighbours together, which takes fewer calls. 128 KiB stay, here as
// in free(): a page costs 1.7 us to give back and to touch anew, which a table of 10,000 atoms that is made anew felt
// as 4 of 45 ns an atom. glibc keeps as much at the end of its heap.
void trim();

std::size_t page_bytes();

// Who has the page at this address, which lies in the range; 0 if nobody.
std::uint8_t owner_of(const void* address);
// Leaves the pages to nobody, for good: a table goes that has atoms which are still held.
void abandon(const PageRun& run);

AtomRangeUse use();

// Around a fork, in a child too.
void lock_for_fork();
void unlock_after_fork();

}  // namespace tare::atom_range
