// The interposed dlopen: modules shall find malloc and free where everybody else does.
#include <cstddef>

#include <dlfcn.h>

#include "recorder/arch/arch.h"
#include "recorder/hooks/hook_names.h"
#include "recorder/hooks/real.h"

// With RTLD_DEEPBIND (PHP opens its extensions so) a module resolves names in its own libraries first, the C library
// among them. Its calls would bypass the recorder while the program's calls for the same blocks don't, and a block that
// it frees would seem to stay live. Without a frame of its own: dlopen reads its caller's return address, because
// $ORIGIN and RUNPATH are those of the caller's file.
extern "C" __attribute__((naked, visibility("default"))) void* tare_hook_dlopen() __asm__("dlopen");
extern "C" __attribute__((naked)) void* tare_hook_dlopen() { TARE_DLOPEN_HOOK; }
