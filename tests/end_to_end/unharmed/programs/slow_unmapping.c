// A library in front of the C library, whose munmap, mremap and sbrk call back between the system call and their
// return: as if the thread had lost its processor there.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

void (*between)(void);

static void* next(const char* name) {
  void* const found = dlsym(RTLD_NEXT, name);
  if (found == NULL) abort();
  return found;
}

static void call_back(void) {
  if (between != NULL) between();
}

int munmap(void* address, size_t bytes) {
  const int result = ((int (*)(void*, size_t))next("munmap"))(address, bytes);
  call_back();
  return result;
}

void* mremap(void* old, size_t old_bytes, size_t bytes, int flags, void* wanted) {
  void* const result =
      ((void* (*)(void*, size_t, size_t, int, ...))next("mremap"))(old, old_bytes, bytes, flags, wanted);
  call_back();
  return result;
}

void* sbrk(intptr_t change) {
  void* const before = ((void* (*)(intptr_t))next("sbrk"))(change);
  if (change < 0) call_back();
  return before;
}
