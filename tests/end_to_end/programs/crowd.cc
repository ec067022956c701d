// Four threads that allocate and free without pause, from changing stacks: more events than a launcher drains.
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr int kThreads = 4;
constexpr int kPairs = 400'000;

__attribute__((noinline)) void* allocate(unsigned depth, unsigned bytes) {
  if (depth == 0) return std::malloc(16 + bytes % 200);
  void* const block = allocate(depth - 1, bytes);
  __asm__ volatile("" : : "r"(block) : "memory");
  return block;
}

void work(unsigned seed) {
  for (int i = 0; i < kPairs; ++i) {
    seed = seed * 1664525 + 1013904223;
    std::free(allocate(seed >> 28, seed >> 8));
  }
}

}  // namespace

// crowd [wait]: makes a block for each empty line, until there is another one
int main(int count, char**) {
  if (count > 1) {
    std::printf("ready\n");
    std::fflush(stdout);
    while (std::getchar() == '\n') std::free(allocate(0, 0));
  }
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  return 0;
}
