// mlockall, for the program's memory only.
//
// The recorder's tables are mapped at their maximum size. If they were locked, 70 MB of them would become resident, and
// a program that may not lock more than RLIMIT_MEMLOCK would fail where it succeeds without the recorder.
#pragma once

namespace tare::recorder {

// Has the effect of mlockall(flags) on the program's own memory. As libc's: -1 and errno.
int lock_programs_memory(int flags);

}  // namespace tare::recorder
