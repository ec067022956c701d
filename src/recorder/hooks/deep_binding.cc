// The interposed dlopen: modules shall find malloc and free where everybody else does.
#include <cstddef>

#include <dlfcn.h>

#include "recorder/hooks/hook_names.h"
#include "recorder/hooks/real.h"

// With RTLD_DEEPBIND (PHP opens its extensions so) a module looks into its own libraries first, the C library among
// them: its calls would pass the recorder, while those of the program about the same blocks don't, and a block that it
// frees would seem to live on. Without a frame of its own: dlopen asks who calls it, as $ORIGIN and RUNPATH are that
// file's.
extern "C" __attribute__((naked, visibility("default"))) void* tare_hook_dlopen() __asm__("dlopen");
extern "C" __attribute__((naked)) void* tare_hook_dlopen() {
  __asm__ volatile(
      "andl %0, %%esi\n\t"
      "jmp *tare_real_functions+%c1(%%rip)"
      :
      : "i"(~RTLD_DEEPBIND), "i"(offsetof(tare::recorder::RealFunctions, dlopen)));
}
