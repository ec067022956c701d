// Facts of the recorded process in the spool's header: program, machine, settings.
#pragma once

#include "recorder/spool/spool.h"

namespace tare::recorder {

// exe, cwd, command line, kernel, host, page size, pid and the clock pair. `environment` only on the user's wish.
// AtStart: the program hasn't changed its arguments yet. `pid_namespace`: 0 if it isn't known.
enum class KeepEnvironment : std::uint8_t { No, Yes };
enum class AtStart : std::uint8_t { No, Yes };
void write_process_facts(Spool& spool, KeepEnvironment keep, AtStart at_start, std::uint64_t pid_namespace);
// Those that a forked child doesn't share with its parent: pids and the clock pair. `parent`: null where it isn't
// known.
void write_process_ids(trace::SpoolHeader& header, const trace::SpoolHeader* parent, std::uint64_t pid_namespace);

// The greatest resident set so far, the spool's pages included; 0 if the kernel doesn't report it. Uses no heap.
std::uint32_t peak_resident_kib();
// The same, or that of an earlier program in this process if that is greater; in 1 us instead of 40.
std::uint32_t peak_resident_kib_of_all_programs();

}  // namespace tare::recorder
