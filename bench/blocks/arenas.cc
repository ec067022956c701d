// Arenas beside their peers under the allocator that is preloaded: bench-arenas ALLOCATOR. A document is built of
// small objects (16 to 128 bytes, log-uniform), one in a hundred a table of a power of two from 1 to 64 KiB, until a
// size between 1 KiB and 1 MiB (log-uniform) is reached; then it's dropped as a whole.
//
//   time          ns an object, with making and dropping the arena
//   with count_malloc preloaded, instead:
//   final_ratio   what all blocks take, with the allocator's headers, by what was asked for: mean of ratios
//   mallocs       calls of malloc, a document
//
// Subjects: tare, std-pmr (monotonic_buffer_resource), llvm-bump (BumpPtrAllocator), native (malloc for each object);
// and tare-kept and llvm-bump-reset, which are one arena for all documents and keep a chunk.
#include <llvm/Support/Allocator.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory_resource>
#include <random>
#include <string>
#include <vector>

#include "counted_mallocs.h"
#include "report.h"
#include "tare/arena.h"
#include "tare/good_size.h"

namespace tare::bench {
namespace {

struct TareArena {
  void* allocate(std::size_t bytes) { return arena.allocate(bytes, 8); }
  Arena arena;
};
// One for all documents, as who builds one after another has it.
struct TareKept {
  static Arena& arena() {
    static Arena kept;
    return kept;
  }
  void* allocate(std::size_t bytes) { return arena().allocate(bytes, 8); }
  ~TareKept() { arena().reset(ArenaReset::Keep); }
};
struct LlvmReset {
  static llvm::BumpPtrAllocator& arena() {
    static llvm::BumpPtrAllocator kept;
    return kept;
  }
  void* allocate(std::size_t bytes) { return arena().Allocate(bytes, llvm::Align(8)); }
  ~LlvmReset() { arena().Reset(); }
};
struct PmrArena {
  void* allocate(std::size_t bytes) { return arena.allocate(bytes, 8); }
  std::pmr::monotonic_buffer_resource arena;
};
struct LlvmArena {
  void* allocate(std::size_t bytes) { return arena.Allocate(bytes, llvm::Align(8)); }
  llvm::BumpPtrAllocator arena;
};
struct Malloc {
  void* allocate(std::size_t bytes) {
    blocks.push_back(std::malloc(bytes));
    return blocks.back();
  }
  ~Malloc() {
    for (void* block : blocks) std::free(block);
  }
  std::vector<void*> blocks;
};

using Sizes = std::vector<std::uint32_t>;

std::vector<Sizes> documents() {
  constexpr int kDocuments = 60;
  std::mt19937 random(1);
  const auto log_uniform = [&](double low, double high) {
    const double share = static_cast<double>(random()) / 4294967296.0;
    return std::exp2(low + (high - low) * share);
  };
  std::vector<Sizes> all(kDocuments);
  for (std::size_t i = 0; i < kDocuments; ++i) {
    const double wanted = std::exp2(10 + 10 * (static_cast<double>(i) + 0.5) / kDocuments);
    for (double total = 0; total < wanted; total += all[i].back()) {
      const bool is_table = random() % 100 == 0;
      all[i].push_back(is_table ? std::uint32_t{1024} << random() % 7 : static_cast<std::uint32_t>(log_uniform(4, 7)));
    }
  }
  return all;
}

template <class Arena>
void build(const Sizes& sizes) {
  Arena arena;
  for (const std::uint32_t size : sizes) *static_cast<char*>(arena.allocate(size)) = 1;
  keep(arena);
}

std::uint64_t header_bytes() { return good_size_source() == GoodSizeSource::GlibcFormula ? 8 : 0; }

struct Measured {
  double time_ns = 0;
  double final_ratio = 0;
  double mallocs = 0;
};

template <class Arena>
Measured measure(const std::vector<Sizes>& all) {
  Measured measured;
  std::size_t objects = 0;
  for (const Sizes& sizes : all) {
    objects += sizes.size();
    if (tare_counted_mallocs == nullptr) continue;
    std::uint64_t asked = 0;
    for (const std::uint32_t size : sizes) asked += size;
    const CountedMallocs before = tare_counted_mallocs();
    build<Arena>(sizes);
    const CountedMallocs after = tare_counted_mallocs();
    const std::uint64_t blocks = after.calls - before.calls;
    const auto count = static_cast<double>(all.size());
    const auto taken = static_cast<double>(after.bytes - before.bytes + blocks * header_bytes());
    measured.final_ratio += taken / static_cast<double>(asked) / count;
    measured.mallocs += static_cast<double>(blocks) / count;
  }
  if (tare_counted_mallocs != nullptr) return measured;
  measured.time_ns = 1e300;
  for (int repeat = 0; repeat < 9; ++repeat) {
    const double begin = cpu_ns();
    for (const Sizes& sizes : all) build<Arena>(sizes);
    measured.time_ns = std::min(measured.time_ns, (cpu_ns() - begin) / static_cast<double>(objects));
  }
  return measured;
}

// In a process of its own: what one frees changes glibc's thresholds for the next.
template <class Arena>
void report_on(Report& report, const std::string& case_name, const char* subject, const std::vector<Sizes>& all) {
  int pipes[2];
  if (pipe(pipes) != 0) std::exit(1);
  const pid_t child = fork();
  if (child == 0) {
    const Measured measured = measure<Arena>(all);
    _exit(write(pipes[1], &measured, sizeof(measured)) == sizeof(measured) ? 0 : 1);
  }
  Measured measured;
  const bool good = read(pipes[0], &measured, sizeof(measured)) == sizeof(measured);
  close(pipes[0]);
  close(pipes[1]);
  waitpid(child, nullptr, 0);
  if (!good) std::exit(1);
  if (tare_counted_mallocs == nullptr) {
    report.add(case_name, subject, "time", measured.time_ns, "ns");
  } else {
    report.add(case_name, subject, "final_ratio", measured.final_ratio, "ratio");
    report.add(case_name, subject, "mallocs", measured.mallocs, "count");
  }
}

}  // namespace
}  // namespace tare::bench

int main(int count, char** words) {
  using namespace tare::bench;
  const std::string case_name = std::string("arena-") + (count > 1 ? words[1] : "glibc");
  const std::vector<Sizes> all = documents();
  keep(tare::good_size(1));  // asks the allocator once, which isn't an arena's cost
  Report report;
  report_on<TareArena>(report, case_name, "tare", all);
  report_on<PmrArena>(report, case_name, "std-pmr", all);
  report_on<LlvmArena>(report, case_name, "llvm-bump", all);
  if (tare_counted_mallocs != nullptr) return 0;
  report_on<TareKept>(report, case_name, "tare-kept", all);
  report_on<LlvmReset>(report, case_name, "llvm-bump-reset", all);
  report_on<Malloc>(report, case_name, "native", all);
  return 0;
}
