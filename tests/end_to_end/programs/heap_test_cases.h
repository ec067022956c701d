// Test cases with limits of the heap: the same for each framework. TARE_CASE(name) begins one.
#include <tare/heap_test.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

std::vector<std::unique_ptr<char[]>> kept;

[[gnu::noinline]] void keep(std::size_t blocks, std::size_t bytes) {
  for (std::size_t i = 0; i < blocks; ++i) kept.emplace_back(new char[bytes]);
}

[[gnu::noinline]] void unused_capacity() {
  std::vector<std::string> texts;
  for (int i = 0; i < 100; ++i) {
    texts.emplace_back("x");
    texts.back().reserve(1000);  // of which one byte is used; without contents no lens knows
  }
}

// Ten blocks of 20 bytes have 24 usable bytes and a header of 8: more than a third is waste.
[[gnu::noinline]] void small_blocks() {
  std::vector<std::unique_ptr<char[]>> blocks;
  blocks.reserve(10);
  for (int i = 0; i < 10; ++i) blocks.emplace_back(new char[20]);
}

}  // namespace

TARE_CASE(Kept) {
  kept.reserve(100);
  tare::expect_heap({.allocations = 10, .peak_bytes = 2000, .end_bytes = 2000, .tare_percent = 60},
                    [] { keep(10, 100); });
}

TARE_CASE(TooMany) {
  kept.reserve(100);
  tare::expect_heap({.allocations = 9}, [] { keep(10, 100); });
}

TARE_CASE(TooLarge) {
  tare::expect_heap({.peak_bytes = 10'000}, [] { std::vector<char>(20'000); });
}

TARE_CASE(Leaking) {
  tare::expect_heap({.end_bytes = 1000}, [] { std::vector<char>(20'000); });  // freed: kept
  kept.reserve(100);
  tare::expect_heap({.end_bytes = 100}, [] { keep(1, 200); });
}

TARE_CASE(Wasteful) { tare::expect_heap({.tare_percent = 5}, small_blocks); }

TARE_CASE(Nothing) {
  tare::expect_heap({.allocations = 0, .peak_bytes = 0, .end_bytes = 0}, [] {});
}

TARE_CASE(Threads) {
  tare::expect_heap({.allocations = 50}, [] {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([] { std::vector<char>(1000); });
    for (std::thread& each : threads) each.join();
  });
  unused_capacity();
}
