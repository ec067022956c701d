// Allocates 64-byte blocks for ever, keeping the last 1000, and writes its count of allocations to argv[1] (a file) as
// it goes.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (fd < 0 || ftruncate(fd, 4096) != 0) return 1;
  volatile unsigned long* count = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (count == MAP_FAILED) return 1;
  static void* ring[1000];
  unsigned long limit = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
  for (unsigned long i = 0; limit == 0 || i < limit; ++i) {
    free(ring[i % 1000]);
    ring[i % 1000] = malloc(64);
    *count = i + 1;
  }
  return 0;
}
