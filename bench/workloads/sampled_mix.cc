// Blocks of many sizes and lives, and buffers that grow, in fixed numbers: what sampling has to estimate without bias.
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

[[gnu::noinline]] void* small_kept() { return std::malloc(72); }
[[gnu::noinline]] void* medium_kept() { return std::malloc(1032); }
[[gnu::noinline]] void* large_kept() { return std::malloc(70000); }
[[gnu::noinline]] void* churned() { return std::malloc(40); }
[[gnu::noinline]] void* queued() { return std::malloc(136); }  // dies after 100 more of them and 600 other allocations

// One buffer from 16 bytes to `bytes`, by just enough.
[[gnu::noinline]] void* grown_by_realloc(std::size_t bytes) {
  void* buffer = nullptr;
  for (std::size_t size = 16; size <= bytes; size += 16) buffer = std::realloc(buffer, size);
  return buffer;
}

// The same by doubling, with something behind the buffer that makes each step move it.
[[gnu::noinline]] void* doubled(std::size_t bytes, std::vector<void*>& kept) {
  void* buffer = nullptr;
  for (std::size_t size = 16; size <= bytes; size *= 2) {
    buffer = std::realloc(buffer, size);
    kept.push_back(std::malloc(56));
  }
  return buffer;
}

// By malloc, copy and free, a little at a time. Sampling shows this from an eighth of its distance on: here, always.
[[gnu::noinline]] void* grown_by_hand(std::size_t from, std::size_t to) {
  void* buffer = nullptr;
  std::size_t old = 0;
  for (std::size_t size = from; size <= to; size += from / 4) {
    void* larger = std::malloc(size);
    if (buffer != nullptr) std::memcpy(larger, buffer, old);
    std::free(buffer);
    buffer = larger;
    old = size;
  }
  return buffer;
}

// The same as a container does it.
[[gnu::noinline]] std::size_t vector_filled(std::size_t from, std::size_t to) {
  std::vector<char> bytes;
  bytes.reserve(from);
  while (bytes.size() < to) bytes.push_back('x');
  return bytes.capacity();
}

}  // namespace

int main() {
  std::vector<void*> kept;
  kept.reserve(800000);
  void* queue[100] = {};
  std::size_t capacity = 0;
  for (int i = 0; i < 200000; ++i) {
    kept.push_back(small_kept());
    std::free(churned());
    std::free(queue[i % 100]);
    queue[i % 100] = queued();
    if (i % 8 == 0) kept.push_back(medium_kept());
    if (i % 200 == 0) kept.push_back(large_kept());
    if (i % 100 == 0) kept.push_back(grown_by_realloc(4096));
    if (i % 20 == 0) kept.push_back(doubled(8192, kept));
    if (i % 50 == 0) kept.push_back(grown_by_hand(2048, 8192));
    if (i % 50 == 0) capacity += vector_filled(2048, 20000);
  }
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (i % 4 != 0) std::free(kept[i]);  // a quarter stays
  }
  return capacity == 0;
}
