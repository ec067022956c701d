// What differs by machine: one file each. Everything else of the recorder is the same source.
#pragma once

#if defined(__x86_64__)
#include "recorder/arch/x86_64.h"
#elif defined(__aarch64__)
#include "recorder/arch/aarch64.h"
#else
#error "one file per architecture"
#endif
