// Threads that realloc and free through one arena: argument 1 rounds, argument 2 threads.
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

static void churn(long rounds, unsigned seed) {
  void* slots[32] = {};
  for (long i = 0; i < rounds; ++i) {
    seed = seed * 1664525u + 1013904223u;
    void*& slot = slots[seed >> 27];
    const unsigned kind = (seed >> 12) & 7;
    const std::size_t bytes = 16 + (seed >> 8) % 400;
    if (kind < 5) {
      slot = std::realloc(slot, bytes);
    } else {
      std::free(slot);
      slot = nullptr;
    }
  }
  for (void* slot : slots) std::free(slot);
}

int main(int, char** arguments) {
  std::vector<std::thread> threads;
  for (int i = 0; i < std::atoi(arguments[2]); ++i)
    threads.emplace_back(churn, std::atol(arguments[1]), 77u + static_cast<unsigned>(i));
  for (std::thread& thread : threads) thread.join();
  return 0;
}
