// An allocator linked into its program, as jemalloc is into rustc and PartitionAlloc into Chromium: under its own lock,
// it maps its heap and calls functions that the recorder has hooks for, and it is first called before any library's
// constructor.
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HEAP_BYTES (1 << 24)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char* heap;
static size_t used;

void* malloc(size_t bytes) {
  pthread_mutex_lock(&lock);
  if (heap == NULL) {
    syscall(SYS_gettid);
    prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
    heap = mmap(NULL, HEAP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(heap, 4096, PROT_READ | PROT_WRITE);
  }
  char* block = heap + used;
  used += (bytes + 31) / 16 * 16;
  pthread_mutex_unlock(&lock);
  return used <= HEAP_BYTES ? block : NULL;
}
void free(void* block) { (void)block; }
void* calloc(size_t count, size_t bytes) { return malloc(count * bytes); }
void* realloc(void* old, size_t bytes) {
  char* block = malloc(bytes);
  if (old != NULL && block != NULL) memmove(block, old, bytes);
  return block;
}

static void first_of_all(int count, char** words, char** environment) {
  (void)count, (void)words, (void)environment;
  *(char*)malloc(100) = 1;
}
__attribute__((section(".preinit_array"), used)) static void (*const before_constructors)(int, char**,
                                                                                          char**) = first_of_all;

int main(void) {
  puts(malloc(100) != NULL ? "alive" : "out of memory");
  return 5;
}
