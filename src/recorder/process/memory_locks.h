// mlockall, for the program's memory only.
//
// The recorder's tables are mapped as large as they may become: locked, 70 MB of them would become resident, and a
// program without the right to lock more than RLIMIT_MEMLOCK would be refused what it may do.
#pragma once

namespace tare::recorder {

// Does to the program's memory what mlockall(flags) would without the recorder. As libc's: -1 and errno.
int lock_programs_memory(int flags);

}  // namespace tare::recorder
