// Threads that hand blocks to each other for freeing, through a ring without locks. Argument 1: blocks a thread.
#include <atomic>
#include <cstdlib>
#include <thread>

static constexpr unsigned kSlots = 256;
static std::atomic<void*> rings[2][kSlots];

static void work(int me, long blocks) {
  unsigned seed = 99u + static_cast<unsigned>(me);
  long freed = 0;
  for (long made = 0; made < blocks || freed < blocks;) {
    if (made < blocks) {
      std::atomic<void*>& slot = rings[me][made % kSlots];
      if (slot.load(std::memory_order_relaxed) == nullptr) {
        seed = seed * 1664525u + 1013904223u;
        slot.store(std::malloc(16 + (seed >> 24)), std::memory_order_release);
        ++made;
      }
    }
    std::atomic<void*>& slot = rings[1 - me][freed % kSlots];
    if (void* block = slot.load(std::memory_order_acquire)) {
      slot.store(nullptr, std::memory_order_relaxed);
      std::free(block);
      ++freed;
    }
  }
}

int main(int, char** arguments) {
  const long blocks = std::atol(arguments[1]);
  std::thread other(work, 1, blocks);
  work(0, blocks);
  other.join();
  return 0;
}
