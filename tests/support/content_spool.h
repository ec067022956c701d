// A spool of a recording with contents, in all the ways that blocks can end.
#pragma once

#include <string>

namespace tare::test {

// One thread, stamps from 1,000,100 in steps of 100 unless unstamped, all stacks the rows {0, 1}:
//   0x1000 (100 -> 104), freed with 84 bytes unwritten, text (unstamped);
//   0x2000 (4,064 -> 4,072) with 4,048 unwritten, reallocated to 0x3000 (8,000 -> 8,008);
//   0x3000 seen (3 unwritten, digest 0x77), 0x4000 (32 -> 40) allocated, 0x3000 freed, 0x4000 freed unseen;
//   0x5000 (2^40) freed with all but one byte unwritten.
void write_content_spool(const std::string& path);

}  // namespace tare::test
