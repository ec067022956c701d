// A program with its own malloc, as one with a statically linked allocator.
#include <stddef.h>
#include <string.h>

static char heap[1 << 20];
static size_t used;

void* malloc(size_t bytes) {
  void* block = heap + used;
  used += (bytes + 31) / 16 * 16;
  return used <= sizeof(heap) ? block : NULL;
}
void free(void* block) { (void)block; }
void* calloc(size_t count, size_t bytes) { return malloc(count * bytes); }
void* realloc(void* old, size_t bytes) {
  void* block = malloc(bytes);
  if (old != NULL && block != NULL) memcpy(block, old, bytes);
  return block;
}

int main(void) { return malloc(100) == NULL; }
