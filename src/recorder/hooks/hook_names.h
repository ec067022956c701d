// Definition of an interposed function: a C++ name of its own, with the C name for the linker only. So the compiler
// applies no special meaning of malloc, and no declaration in a standard header conflicts.
#pragma once

#define TARE_HOOK_FUNCTION(result, name, parameters)                                                   \
  extern "C" __attribute__((visibility("default"))) result tare_hook_##name parameters __asm__(#name); \
  extern "C" result tare_hook_##name parameters
