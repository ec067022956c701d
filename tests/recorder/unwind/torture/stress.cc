// Two threads that allocate from changing stacks, some 15 frames deep.
#include <cstdlib>
#include <thread>

namespace {

constexpr int kBlocks = 256;

struct Worker {
  void* blocks[kBlocks] = {};
  unsigned long seed = 1;

  unsigned random(unsigned limit) {
    seed = seed * 6364136223846793005ul + 1442695040888963407ul;
    return static_cast<unsigned>(seed >> 33) % limit;
  }

  __attribute__((noinline)) void allocate() {
    void*& block = blocks[random(kBlocks)];
    if (block != nullptr && random(4) == 0) {
      block = std::realloc(block, random(2000) + 1);
    } else {
      std::free(block);
      block = std::malloc(random(500) + 1);
    }
    __asm__ volatile("" ::: "memory");
  }
  __attribute__((noinline)) void left(int depth) {
    if (depth == 0) {
      allocate();
    } else if (random(2) == 0) {
      left(depth - 1);
    } else {
      right(depth - 1);
    }
    __asm__ volatile("" ::: "memory");
  }
  __attribute__((noinline)) void right(int depth) {
    char local[64];
    __asm__ volatile("" : : "r"(local) : "memory");
    if (depth % 5 == 0) allocate();
    left(depth > 0 ? depth - 1 : 0);
    __asm__ volatile("" ::: "memory");
  }
  void run(int turns) {
    for (int i = 0; i < turns; ++i) left(static_cast<int>(random(15)));
    for (void* block : blocks) std::free(block);
  }
};

}  // namespace

int main(int argc, char** argv) {
  const int turns = argc > 1 ? std::atoi(argv[1]) : 500'000;
  std::thread other([turns] {
    Worker worker;
    worker.seed = 2;
    worker.run(turns);
  });
  Worker worker;
  worker.run(turns);
  other.join();
}
