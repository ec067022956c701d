// Memory whose missing pages a thread of the program would bring: private memory and shared, of few pages and many.
// Keeps blocks, and ends while nobody has touched the pages.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int faults;

static void* serve(void* unused) {
  struct uffd_msg message;
  while (read(faults, &message, sizeof message) == sizeof message) {
    struct uffdio_zeropage zero = {{message.arg.pagefault.address & ~4095ull, 4096}, 0, 0};
    ioctl(faults, UFFDIO_ZEROPAGE, &zero);
  }
  return unused;
}

int main(void) {
  faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
  struct uffdio_api api = {UFFD_API, 0, 0};
  if (faults < 0 || ioctl(faults, UFFDIO_API, &api) != 0) return 77;
  const int kinds[] = {MAP_PRIVATE, MAP_SHARED};
  const size_t pages[] = {4, 100};
  for (int i = 0; i < 4; i++) {
    const size_t bytes = pages[i % 2] * 4096;
    char* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, kinds[i / 2] | MAP_ANONYMOUS, -1, 0);
    struct uffdio_register all = {{(unsigned long)memory, bytes}, UFFDIO_REGISTER_MODE_MISSING, 0};
    if (ioctl(faults, UFFDIO_REGISTER, &all) != 0) return 77;
  }
  pthread_t thread;
  pthread_create(&thread, NULL, serve, NULL);
  char** kept = malloc(100 * sizeof *kept);
  for (int i = 0; i < 100; i++) kept[i] = malloc(1000);
  printf("%d\n", kept[99] != NULL);
  return 6;
}
