// Growing arrays beside their peers under the allocator that is preloaded: bench-buffers ALLOCATOR. Final sizes are
// log-uniform from 16 bytes to 64 KiB, reached by 16 bytes at a time.
//
//   time              ns an append of 16 bytes
//   rss_ratio         resident memory by live bytes: 4,000 grown one after another, then half of them replaced
//   rss_at_once_ratio the same where they grow all at once, in turns
//   with count_malloc preloaded, instead:
//   final_ratio       what the final block takes, with the allocator's header, by what is used of it: mean of ratios
//   cumulative_ratio  what all blocks on the way took, by what is used in the end: mean of ratios
//   mallocs           calls of malloc and realloc, a buffer
//
// The first case is run on the model of mozjemalloc too, which isn't to be had as a package.
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "counted_mallocs.h"
#include "growables.h"
#include "report.h"

namespace tare::bench {
namespace {

constexpr std::size_t kPiece = 16;
constexpr std::array<char, kPiece> kCharacters{'s', 'i', 'x', 't', 'e', 'e', 'n'};

std::size_t log_uniform(double share) { return static_cast<std::size_t>(std::exp2(4 + 12 * share)); }

template <typename Growable>
void grow_to(Growable& growable, std::size_t size) {
  growable.reserve(size);
  for (std::size_t grown = 0; grown < size; grown += kPiece) {
    growable.append({kCharacters.data(), std::min(kPiece, size - grown)});
  }
}

// glibc keeps 8 bytes before each block, which malloc_usable_size leaves out.
std::size_t header_bytes() { return good_size_source() == GoodSizeSource::GlibcFormula ? 8 : 0; }

template <typename Growable>
void measure_sizes(Report& report, const std::string& case_name, const char* subject) {
  constexpr int kBuffers = 2000;
  double final_ratio = 0;
  double cumulative_ratio = 0;
  double calls = 0;
  for (int i = 0; i < kBuffers; ++i) {
    const std::size_t size = log_uniform((i + 0.5) / kBuffers);
    const CountedMallocs before = tare_counted_mallocs();
    Growable growable;
    grow_to(growable, size);
    const CountedMallocs after = tare_counted_mallocs();
    const auto taken = [](std::uint64_t number_of, std::uint64_t usable) {
      return static_cast<double>(usable + number_of * header_bytes());
    };
    const auto used = static_cast<double>(size);
    if (growable.block() != nullptr) {
      final_ratio += taken(1, malloc_usable_size(const_cast<void*>(growable.block()))) / used;
    }
    cumulative_ratio += taken(after.calls - before.calls, after.bytes - before.bytes) / used;
    calls += static_cast<double>(after.calls - before.calls);
  }
  report.add(case_name, subject, "final_ratio", final_ratio / kBuffers, "ratio");
  report.add(case_name, subject, "cumulative_ratio", cumulative_ratio / kBuffers, "ratio");
  report.add(case_name, subject, "mallocs", calls / kBuffers, "count");
}

template <typename Growable>
double append_ns() {
  constexpr int kBuffers = 400;
  std::size_t pieces = 0;
  const double begin = cpu_ns();
  for (int i = 0; i < kBuffers; ++i) {
    const std::size_t size = log_uniform((i + 0.5) / kBuffers);
    Growable growable;
    grow_to(growable, size);
    keep(growable.block());
    pieces += (size + kPiece - 1) / kPiece;
  }
  return (cpu_ns() - begin) / static_cast<double>(pieces);
}

double resident_bytes() {
  long total = 0;
  long resident = 0;
  FILE* statm = std::fopen("/proc/self/statm", "r");
  if (statm == nullptr || std::fscanf(statm, "%ld %ld", &total, &resident) != 2) std::abort();
  std::fclose(statm);
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

// Grows all of `sizes` at once, in turns of random length.
template <typename Growable>
void grow_together(std::vector<Growable>& growables, const std::vector<std::size_t>& sizes,
                   std::vector<std::size_t> unfinished, std::minstd_rand& random) {
  std::vector<std::size_t> grown(sizes.size());
  for (const std::size_t i : unfinished) growables[i].reserve(sizes[i]);
  while (!unfinished.empty()) {
    const std::size_t turn = random() % unfinished.size();
    const std::size_t i = unfinished[turn];
    for (auto pieces = 1 + random() % 32; pieces > 0 && grown[i] < sizes[i]; --pieces) {
      const std::size_t piece = std::min(kPiece, sizes[i] - grown[i]);
      growables[i].append({kCharacters.data(), piece});
      grown[i] += piece;
    }
    if (grown[i] < sizes[i]) continue;
    unfinished[turn] = unfinished.back();
    unfinished.pop_back();
  }
}

enum class Turns { OneAfterAnother, AllAtOnce };

template <typename Growable, Turns kTurns>
double rss_ratio() {
  constexpr std::size_t kBuffers = 4000;
  std::minstd_rand random(9);
  std::vector<Growable> growables(kBuffers);
  std::vector<std::size_t> sizes(kBuffers);
  std::vector<std::size_t> chosen(kBuffers);  // room before the count begins
  const auto grow = [&] {
    for (const std::size_t i : chosen) {
      growables[i] = Growable();
      sizes[i] = log_uniform((static_cast<double>(random() % 10'000) + 0.5) / 10'000);
    }
    if (kTurns == Turns::AllAtOnce) return grow_together(growables, sizes, chosen, random);
    for (const std::size_t i : chosen) grow_to(growables[i], sizes[i]);
  };
  for (std::size_t i = 0; i < kBuffers; ++i) chosen[i] = i;
  const double before = resident_bytes();
  grow();
  chosen.clear();
  for (std::size_t i = 0; i < kBuffers; ++i) {
    if (random() % 2 == 0) chosen.push_back(i);
  }
  grow();
  double live = 0;
  for (const std::size_t size : sizes) live += static_cast<double>(size);
  return (resident_bytes() - before) / live;
}

// In a process of its own: what others left in the heap would be used again.
double in_child(double (*measure)()) {
  std::array<int, 2> pipe_ends{};
  if (pipe(pipe_ends.data()) != 0) std::abort();
  const pid_t child = fork();
  if (child == 0) {
    const double value = measure();
    _exit(write(pipe_ends[1], &value, sizeof value) == sizeof value ? 0 : 1);
  }
  double value = 0;
  if (read(pipe_ends[0], &value, sizeof value) != sizeof value) std::abort();
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  waitpid(child, nullptr, 0);
  return value;
}

template <typename Growable>
void measure(Report& report, const std::string& case_name, const char* subject) {
  if (tare_counted_mallocs != nullptr) return measure_sizes<Growable>(report, case_name, subject);
  append_ns<Growable>();
  double best = 1e300;
  for (int round = 0; round < 3; ++round) best = std::min(best, append_ns<Growable>());
  report.add(case_name, subject, "time", best, "ns");
  report.add(case_name, subject, "rss_ratio", in_child(&rss_ratio<Growable, Turns::OneAfterAnother>), "ratio");
  report.add(case_name, subject, "rss_at_once_ratio", in_child(&rss_ratio<Growable, Turns::AllAtOnce>), "ratio");
}

// The same sizes on an allocator's model.
template <typename Growth>
void measure_on_model(Report& report, const SizeModel& model, const char* subject) {
  constexpr int kBuffers = 2000;
  double final_ratio = 0;
  double cumulative_ratio = 0;
  for (int i = 0; i < kBuffers; ++i) {
    const std::size_t used = log_uniform((i + 0.5) / kBuffers);
    std::size_t capacity = 0;
    std::size_t slots = 0;
    for (std::size_t size = 0; size != used;) {
      size = std::min(size + kPiece, used);
      if (size <= capacity) continue;
      capacity = Growth::next_bytes(capacity, size, [&](std::size_t bytes) { return good_size(model, bytes); });
      slots += size_class(model, capacity).slot_bytes;
    }
    final_ratio += static_cast<double>(size_class(model, capacity).slot_bytes) / static_cast<double>(used);
    cumulative_ratio += static_cast<double>(slots) / static_cast<double>(used);
  }
  const std::string case_name = "buffer-" + std::string(model.name) + "-model";
  report.add(case_name, subject, "final_ratio", final_ratio / kBuffers, "ratio");
  report.add(case_name, subject, "cumulative_ratio", cumulative_ratio / kBuffers, "ratio");
}

}  // namespace
}  // namespace tare::bench

int main(int argc, char** argv) {
  using namespace tare::bench;
  const std::string allocator = argc > 1 ? argv[1] : "glibc";
  const std::string case_name = "buffer-" + allocator;
  Report report;
  (void)tare::good_size(1);  // finds out whom to ask, once
  measure<TareBuffer<tare::GrowByClass>>(report, case_name, "tare");
  measure<TareBuffer<tare::GrowByDoubling>>(report, case_name, "tare-doubling");
  measure<Exact>(report, case_name, "hand");
  measure<StdVector>(report, case_name, "std-vector");
  measure<StdString>(report, case_name, "std-string");
  measure<LlvmSmallVector>(report, case_name, "llvm-smallvector");
  measure<AbslInlinedVector>(report, case_name, "absl-inlinedvector");
  measure<Modelled<HalfAsMuchAgain>>(report, case_name, "model-1.5");
  measure<Modelled<PowersOfTwo, 8>>(report, case_name, "model-header-2^k");
  measure<Modelled<JustEnough>>(report, case_name, "model-just-enough");
  if (allocator == "glibc" && tare_counted_mallocs != nullptr) {
    measure_on_model<tare::GrowByClass>(report, tare::size_models::mozjemalloc, "tare");
    measure_on_model<tare::GrowByDoubling>(report, tare::size_models::mozjemalloc, "tare-doubling");
  }
}
