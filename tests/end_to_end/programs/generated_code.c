// A JIT compiler of one function, twice: "call my argument", 1,000 times by the first and 500 times by the second.
// Writes its names to /tmp/perf-PID.map as argv[1] has them, line by line, with FIRST and SECOND in the place of the
// addresses.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef void (*Action)(void);
void* volatile kept[4096];
static int count;

__attribute__((noinline)) void keep_one(void) {
  kept[count++] = malloc(1000);
  __asm__ volatile("");
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  // push rbp; mov rbp, rsp; call rdi; pop rbp; ret
  static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
  char* page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(page, code, sizeof(code));
  memcpy(page + 64, code, sizeof(code));
  mprotect(page, 4096, PROT_READ | PROT_EXEC);

  char path[64];
  snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
  FILE* map = fopen(path, "w");
  if (map == NULL) return 3;
  for (int i = 1; i < argc; ++i) {
    const char* name = strchr(argv[i], ' ') + 1;
    const int second = strncmp(argv[i], "SECOND", 6) == 0;
    fprintf(map, "%lx 40 %s\n", (unsigned long)(uintptr_t)page + (second ? 64 : 0), name);
  }
  void (*first)(Action) = (void (*)(Action))(uintptr_t)page;
  void (*second)(Action) = (void (*)(Action))(uintptr_t)(page + 64);
  for (int i = 0; i < 1500; ++i) (i % 3 == 0 ? second : first)(keep_one);
  fclose(map);  // the names reach the file at the end only, as with V8
  puts(path);
  return 0;
}
