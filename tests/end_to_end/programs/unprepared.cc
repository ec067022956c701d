// Allocates, checks the contents of its blocks, and prints their sum. BLOCKS THREADS PAUSES STOP: its threads repeat
// the same work until the file STOP exists. They sleep after each 1,000 blocks, or make no other system calls than the
// allocator's in a round.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

static unsigned long work(unsigned seed, unsigned long blocks, bool pauses) {
  std::vector<char*> kept(500);
  unsigned long sum = 0;
  unsigned next = seed;
  for (unsigned long n = 0; n < blocks; ++n) {
    next = next * 1664525u + 1013904223u;
    const std::size_t i = (next >> 8) % kept.size();
    if (kept[i] != nullptr) {
      if (kept[i][0] != static_cast<char>(i)) std::abort();
      sum += static_cast<unsigned char>(kept[i][0]);
      delete[] kept[i];
    }
    kept[i] = new char[1 + (next >> 16) % 5000];
    kept[i][0] = static_cast<char>(i);
    if (pauses && n % 1000 == 0) usleep(1000);
  }
  for (char* const block : kept) delete[] block;
  return sum;
}

static unsigned long repeat(unsigned seed, unsigned long blocks, bool pauses, const char* stop) {
  const unsigned long sum = work(seed, blocks, pauses);
  while (access(stop, F_OK) != 0) {
    if (work(seed, blocks, pauses) != sum) std::abort();
  }
  return sum;
}

int main(int, char** arguments) {
  const unsigned long blocks = std::strtoul(arguments[1], nullptr, 10);
  const bool pauses = std::atoi(arguments[3]) != 0;
  std::vector<unsigned long> sums(std::strtoul(arguments[2], nullptr, 10));
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < sums.size(); ++i) {
    threads.emplace_back([&, i] { sums[i] = repeat(static_cast<unsigned>(i), blocks, pauses, arguments[4]); });
  }
  sums[0] = repeat(0, blocks, pauses, arguments[4]);
  for (std::thread& thread : threads) thread.join();
  for (const unsigned long sum : sums) std::printf("%lu\n", sum);
  return 0;
}
