// Sites of different sizes, with an inlined function, a thread of its own, and blocks that outlive the peak.
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

std::vector<void*> kept;

[[gnu::always_inline]] inline void* inlined_allocation(std::size_t bytes) { return malloc(bytes); }

[[gnu::noinline]] void few_bytes() {
  for (int i = 0; i < 3; ++i) kept.push_back(inlined_allocation(100));
}

[[gnu::noinline]] void parse(std::size_t count) {
  std::vector<void*> blocks;
  for (std::size_t i = 0; i < count; ++i) blocks.push_back(malloc(1 + 37 * i % 5000));
  for (std::size_t i = 0; i < count; i += 2) free(blocks[i]);
  kept.insert(kept.end(), blocks.begin() + 1, blocks.begin() + 2);
}

}  // namespace

int main() {
  kept.reserve(1000);
  few_bytes();
  std::thread(parse, 700).join();
  parse(500);
  return 0;
}
