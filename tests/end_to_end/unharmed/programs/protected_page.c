// Frees a large block with a page inside that can't be read: protected by mprotect, or by the system call itself.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const size_t bytes = strtoul(arguments[1], NULL, 10) << 20;
  const int by_number = strcmp(arguments[2], "syscall") == 0;
  char* const block = malloc(bytes);
  memset(block, 1, bytes);
  char* const page = (char*)(((uintptr_t)block + bytes / 4 * 3) & ~(uintptr_t)4095);
  // what lies behind it was never written, as far as anybody can see: a search from the end comes to the page
  memset(page + 4096, 0, (size_t)(block + bytes - page) - 4096);
  const long done = by_number ? syscall(SYS_mprotect, page, 4096, PROT_NONE) : mprotect(page, 4096, PROT_NONE);
  if (done != 0) return 3;
  free(block);
  puts("freed");
  return 0;
}
