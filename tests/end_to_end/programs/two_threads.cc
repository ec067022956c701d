// Two threads that do a bit of everything, and free each other's blocks: much for a trace's guesses to get wrong.
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

std::mutex handed_over_lock;
std::vector<void*> handed_over;

void hand_over(void* block) {
  const std::lock_guard guard(handed_over_lock);
  handed_over.push_back(block);
}

void free_handed_over() {
  const std::lock_guard guard(handed_over_lock);
  if (handed_over.empty()) return;
  free(handed_over.back());
  handed_over.pop_back();
}

void map_something(std::size_t pages) {
  const std::size_t bytes = pages * 4096;
  void* mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mapping = mremap(mapping, bytes, 2 * bytes, MREMAP_MAYMOVE);
  munmap(mapping, 2 * bytes);
}

void work(unsigned random) {
  std::vector<void*> blocks;
  std::map<unsigned, std::string> names;
  for (int i = 0; i < 4000; ++i) {
    random = random * 1103515245 + 12345;
    const unsigned r = random >> 16 & 0x7fff;
    void* aligned = nullptr;
    switch (r % 12) {
      case 0:
        blocks.push_back(malloc(r % 3000));
        break;
      case 1:
        blocks.push_back(calloc(r % 50 + 1, 8));
        break;
      case 2:
        if (!blocks.empty()) blocks[r % blocks.size()] = realloc(blocks[r % blocks.size()], r % 5000 + 1);
        break;
      case 3:
        if (!blocks.empty()) {
          free(blocks.back());
          blocks.pop_back();
        }
        break;
      case 4:
        blocks.push_back(aligned_alloc(64, 64 * (r % 9 + 1)));
        break;
      case 5:
        if (posix_memalign(&aligned, 4096, r % 9000) == 0) blocks.push_back(aligned);
        break;
      case 6:
        names[r] = std::string(r % 200, 'x');
        break;
      case 7:
        if (!names.empty()) names.erase(names.begin());
        break;
      case 8:
        hand_over(malloc(r % 600));
        break;
      case 9:
        free_handed_over();
        break;
      case 10:
        if (r % 50 == 0) map_something(r % 8 + 1);
        break;
      default:
        free(reallocarray(nullptr, r % 9 + 1, 16));
        break;
    }
  }
  for (void* block : blocks) free(block);
}

}  // namespace

int main() {
  std::thread other(work, 1);
  work(2);
  other.join();
  free(realloc(malloc(10), 100'000));
  sbrk(8192);
  return 0;
}
