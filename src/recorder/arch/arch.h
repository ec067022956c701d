// Includes the file of this machine, which has the code of the recorder that differs between machines.
#pragma once

#if defined(__x86_64__)
#include "recorder/arch/x86_64.h"
#elif defined(__aarch64__)
#include "recorder/arch/aarch64.h"
#else
#error "one file per architecture"
#endif
