// How an interposed function is defined: our own C++ name, the C name only for the linker, so that the compiler knows
// nothing of malloc's special meaning and no standard header's declaration gets in the way.
#pragma once

#define TARE_HOOK_FUNCTION(result, name, parameters)                                                   \
  extern "C" __attribute__((visibility("default"))) result tare_hook_##name parameters __asm__(#name); \
  extern "C" result tare_hook_##name parameters
