// Copies ./one.so as often as the argument asks, loads each copy, and calls its allocating function.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char library[1 << 20];

int main(int argc, char** argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 100;
  const int from = open("one.so", O_RDONLY);
  const ssize_t bytes = from < 0 ? -1 : read(from, library, sizeof library);
  if (bytes <= 0) return 1;
  size_t sum = 0;
  for (int i = 0; i < count; ++i) {
    char path[64];
    snprintf(path, sizeof path, "./copy%d.so", i);
    const int to = open(path, O_CREAT | O_WRONLY, 0700);
    if (to < 0 || write(to, library, (size_t)bytes) != bytes) return 2;
    close(to);
    void* const loaded = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    unlink(path);
    if (loaded == NULL) return 3;
    char* (*grab)(size_t) = (char* (*)(size_t))dlsym(loaded, "grab");
    if (grab == NULL) return 4;
    sum += strlen(grab((size_t)i % 100 + 2));
  }
  printf("%zu\n", sum);
  return 0;
}
