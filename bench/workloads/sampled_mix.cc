// Blocks of many sizes and lives, and buffers that grow, in fixed numbers: what sampling has to estimate without bias.
#include <cstdlib>
#include <vector>

namespace {

[[gnu::noinline]] void* small_kept() { return std::malloc(72); }
[[gnu::noinline]] void* medium_kept() { return std::malloc(1032); }
[[gnu::noinline]] void* large_kept() { return std::malloc(70000); }
[[gnu::noinline]] void* churned() { return std::malloc(40); }

// One buffer from 16 bytes to `bytes`, by just enough.
[[gnu::noinline]] void* grown_by_realloc(std::size_t bytes) {
  void* buffer = nullptr;
  for (std::size_t size = 16; size <= bytes; size += 16) buffer = std::realloc(buffer, size);
  return buffer;
}

// The same by doubling.
[[gnu::noinline]] void* doubled(std::size_t bytes) {
  void* buffer = nullptr;
  for (std::size_t size = 16; size <= bytes; size *= 2) buffer = std::realloc(buffer, size);
  return buffer;
}

}  // namespace

int main() {
  std::vector<void*> kept;
  kept.reserve(400000);
  for (int i = 0; i < 200000; ++i) {
    kept.push_back(small_kept());
    std::free(churned());
    if (i % 8 == 0) kept.push_back(medium_kept());
    if (i % 200 == 0) kept.push_back(large_kept());
    if (i % 400 == 0) kept.push_back(grown_by_realloc(4096));
    if (i % 100 == 0) kept.push_back(doubled(8192));
  }
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (i % 4 != 0) std::free(kept[i]);  // a quarter stays
  }
  return 0;
}
