// Facts of the recorded process in the spool's header: program, machine, settings.
#pragma once

#include "recorder/spool/spool.h"

namespace tare::recorder {

// exe, cwd, command line, kernel, host, page size, pid and the clock pair. `environment` only on the user's wish.
enum class KeepEnvironment : std::uint8_t { No, Yes };
void write_process_facts(Spool& spool, KeepEnvironment keep);
// Those that a forked child doesn't share with its parent: pids and the clock pair. `parent`: null where it isn't
// known.
void write_process_ids(trace::SpoolHeader& header, const trace::SpoolHeader* parent);

// Servers overwrite their command line: what is left of its first word, as far as it fits.
void write_title(trace::SpoolHeader& header);

// Reads the beginning of a file of the kernel's into `to`, terminated. Returns its length.
std::uint32_t read_text(const char* path, char* to, std::uint32_t bytes);

// Field 22 of /proc/self/stat: when this process started, in clock ticks since boot. 0: not known.
std::uint64_t start_ticks();

// The greatest resident set so far, the spool's pages included; 0 if the kernel doesn't report it. Uses no heap.
std::uint32_t peak_resident_kib();

}  // namespace tare::recorder
