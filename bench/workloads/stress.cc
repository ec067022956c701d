// Two threads that do little but malloc and free: 20 million calls from stacks some 15 frames deep that change all the
// time. Sizes follow what programs ask (mostly small, a long tail); blocks live from a few to some tens of thousands of
// calls.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "random.h"

namespace {

constexpr std::uint32_t kSlots = 20'000;

std::size_t random_size(std::uint64_t bits) {
  const unsigned shift = static_cast<unsigned>(bits >> 60);  // 0..15: a power of two for each
  if (shift < 8) return 16 + (bits & 0x3f);
  if (shift < 13) return 64 + (bits & 0x1ff);
  return 256 + (bits & 0xfff);
}

struct Worker {
  Random random;
  std::vector<void*> slots = std::vector<void*>(kSlots, nullptr);
  std::uint64_t calls = 0;

  void exchange(std::uint64_t bits) {
    void*& slot = slots[bits % kSlots];
    if (slot != nullptr) {
      std::free(slot);
      slot = nullptr;
    } else {
      slot = std::malloc(random_size(bits * 0x9e3779b97f4a7c15));
      if (slot == nullptr) std::abort();
      std::memset(slot, 1, 16);
    }
    calls += 1;
  }
};

void descend(Worker& worker, unsigned depth, std::uint64_t path);

// Two call sites a level, so that the stacks of one depth differ: bit `depth` of the path chooses.
[[gnu::noinline]] void left(Worker& worker, unsigned depth, std::uint64_t path) {
  descend(worker, depth - 1, path);
  asm volatile("");
}
[[gnu::noinline]] void right(Worker& worker, unsigned depth, std::uint64_t path) {
  descend(worker, depth - 1, path);
  asm volatile("");
}
[[gnu::noinline]] void leaf(Worker& worker, std::uint64_t path) {
  for (unsigned i = 0; i < 8; ++i) worker.exchange(worker.random.next() ^ path);
  asm volatile("");
}
[[gnu::noinline]] void descend(Worker& worker, unsigned depth, std::uint64_t path) {
  if (depth == 0) {
    leaf(worker, path);
  } else if ((path >> depth & 1) != 0) {
    left(worker, depth, path);
  } else {
    right(worker, depth, path);
  }
  asm volatile("");
}

void work(std::uint64_t seed, std::uint64_t calls) {
  Worker worker{Random(seed)};
  while (worker.calls < calls) {
    const std::uint64_t path = worker.random.next();
    descend(worker, 4 + path % 4, path & 0xffff);
  }
  for (void* slot : worker.slots) std::free(slot);
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t calls = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000'000;  // a thread
  std::thread other(work, 0x1234567, calls);
  work(0x7654321, calls);
  other.join();
  std::printf("%llu calls\n", static_cast<unsigned long long>(2 * calls));
}
