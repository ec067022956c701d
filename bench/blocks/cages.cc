// Cages beside what gives runs of pages otherwise: 64 runs are held, and one after the other is freed and another of
// that size taken, in random order, and its first byte written.
//
//   cage-run-N   ns to take, touch and free a run of N KiB
//
// Subjects: tare (freed pages are kept for the next run), tare-returned (they go back to the system), native (mmap and
// munmap), std-aligned-alloc (glibc's), std-pmr (synchronized_pool_resource, which hands its blocks' upstream through).
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory_resource>
#include <random>
#include <string>
#include <vector>

#include "report.h"
#include "tare/cage.h"

namespace tare::bench {
namespace {

constexpr std::size_t kPageBytes = 4096;

template <FreedPages kFreed>
struct CageRuns {
  explicit CageRuns(std::size_t bytes) : bytes_(bytes), cage_(std::move(Cage::reserve().value())) {}
  std::byte* take() {
    const CageResult<PageRun> run = cage_.allocate(bytes_);
    return run ? run.value().data : nullptr;
  }
  void give(std::byte* memory) { cage_.free({memory, bytes_}, kFreed); }
  std::size_t bytes_;
  Cage cage_;
};
struct Mappings {
  explicit Mappings(std::size_t bytes) : bytes_(bytes) {}
  std::byte* take() {
    return static_cast<std::byte*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  void give(std::byte* memory) { munmap(memory, bytes_); }
  std::size_t bytes_;
};
struct AlignedAlloc {
  explicit AlignedAlloc(std::size_t bytes) : bytes_(bytes) {}
  std::byte* take() { return static_cast<std::byte*>(std::aligned_alloc(kPageBytes, bytes_)); }
  void give(std::byte* memory) { std::free(memory); }
  std::size_t bytes_;
};
struct Pmr {
  explicit Pmr(std::size_t bytes) : bytes_(bytes) {}
  std::byte* take() { return static_cast<std::byte*>(pool_.allocate(bytes_, kPageBytes)); }
  void give(std::byte* memory) { pool_.deallocate(memory, bytes_, kPageBytes); }
  std::size_t bytes_;
  std::pmr::synchronized_pool_resource pool_;
};

template <class Runs>
void measure(Report& report, const char* subject, std::size_t kib) {
  constexpr std::size_t kHeld = 64;
  constexpr std::size_t kSteps = 20'000;
  Runs runs(kib << 10);
  std::vector<std::byte*> held(kHeld);
  for (std::byte*& run : held) run = runs.take();
  std::mt19937 random(1);
  double least = 1e300;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const double begin = cpu_ns();
    for (std::size_t i = 0; i < kSteps; ++i) {
      std::byte*& run = held[random() % kHeld];
      runs.give(run);
      run = runs.take();
      if (run == nullptr || run == MAP_FAILED) std::abort();
      *run = std::byte{1};
    }
    least = std::min(least, (cpu_ns() - begin) / kSteps);
  }
  for (std::byte* run : held) runs.give(run);
  report.add("cage-run-" + std::to_string(kib), subject, "time", least, "ns");
}

}  // namespace
}  // namespace tare::bench

int main() {
  using namespace tare::bench;
  Report report;
  for (const std::size_t kib : {std::size_t{4}, std::size_t{64}, std::size_t{1024}}) {
    measure<CageRuns<tare::FreedPages::Keep>>(report, "tare", kib);
    measure<CageRuns<tare::FreedPages::Return>>(report, "tare-returned", kib);
    measure<Mappings>(report, "native", kib);
    measure<AlignedAlloc>(report, "std-aligned-alloc", kib);
    measure<Pmr>(report, "std-pmr", kib);
  }
  return 0;
}
