// Preloaded, it does nothing but jump to the real malloc and free: no interposer can cost less.
#include <stddef.h>

extern void* __libc_malloc(size_t bytes);
extern void __libc_free(void* block);

// Written from outside for all that the compiler knows, as an interposer's that looks them up.
static void* (*volatile real_malloc)(size_t) = __libc_malloc;
static void (*volatile real_free)(void*) = __libc_free;

void* malloc(size_t bytes) { return real_malloc(bytes); }
void free(void* block) { real_free(block); }
