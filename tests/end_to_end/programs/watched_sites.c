// Twelve sites that allocate until the process is killed. Each site's live bytes are in a file that outlives the
// process: watched_sites LEDGER SEED
#include <fcntl.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kSites = 12, kKept = 1 << 20 };

static uint64_t* live_bytes;
static uint64_t state;

static uint64_t random_number(void) {  // splitmix64
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

#define SITE(number, most)                                     \
  __attribute__((noinline)) static void* site_##number(void) { \
    size_t bytes = 16 + random_number() % (most);              \
    void* block = malloc(bytes);                               \
    memset(block, number, bytes);                              \
    live_bytes[number] += malloc_usable_size(block);           \
    return block;                                              \
  }
SITE(0, 200)
SITE(1, 300)
SITE(2, 400)
SITE(3, 500)
SITE(4, 600)
SITE(5, 800)
SITE(6, 1000)
SITE(7, 1200)
SITE(8, 1500)
SITE(9, 2000)
SITE(10, 3000)
SITE(11, 4000)

static void* (*const sites[kSites])(void) = {site_0, site_1, site_2, site_3, site_4,  site_5,
                                             site_6, site_7, site_8, site_9, site_10, site_11};
static struct {
  void* block;
  int site;
} kept[kKept];

int main(int count, char** words) {
  if (count != 3) return 2;
  int file = open(words[1], O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, 4096) != 0) return 2;
  live_bytes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (live_bytes == MAP_FAILED) return 2;
  state = strtoull(words[2], NULL, 10);
  for (;;) {
    size_t place = random_number() % kKept;
    if (kept[place].block != NULL) {
      live_bytes[kept[place].site] -= malloc_usable_size(kept[place].block);
      free(kept[place].block);
      kept[place].block = NULL;
    }
    if (random_number() % 4 == 0) continue;
    kept[place].site = (int)(random_number() % kSites);
    kept[place].block = sites[kept[place].site]();
  }
}
