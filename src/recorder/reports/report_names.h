// Names from the program, each once in the spool's string pool, found there again without a lock.
#pragma once

#include "trace/spool/spool_layout.h"

namespace tare::recorder {

// Where `name` (at most kMaxNameBytes of it) lies in the string pool. False: no room for one more.
bool find_name(const char* name, trace::StringRef& place);

}  // namespace tare::recorder
