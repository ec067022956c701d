// The time that the allocator takes for a call: one call in a few thousand is timed, including waits for locks.
//
// The hooks call real functions through a table. For one call an entry of it leads to a function that takes the time:
// all other calls have not an instruction more.
#pragma once

#include "recorder/events/thread.h"

namespace tare::recorder {

// The next malloc and the next calloc are timed, or every second time the next free, in whichever thread they come. Any
// thread; not before the real functions are known.
void time_next_call();

// Called when the event of the thread's last hook is written: writes the note with the call's time, if it was timed.
void write_call_cost(Thread* thread);

}  // namespace tare::recorder
