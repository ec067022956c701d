// Finds the function that returns good sizes, and calls it.
#include "tare/good_size.h"

#include <malloc.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>

// Null unless the allocator that is linked or preloaded has them.
extern "C" {
__attribute__((weak)) std::size_t nallocx(std::size_t size, int flags) noexcept;
__attribute__((weak)) std::size_t mi_good_size(std::size_t size) noexcept;
__attribute__((weak)) std::size_t tc_nallocx(std::size_t size, int flags) noexcept;
__attribute__((weak)) std::size_t malloc_good_size(std::size_t size);
__attribute__((weak)) void __scudo_print_stats();
}

namespace tare::inline TARE_ABI {
namespace {

// 0 where malloc fails. The block is never touched, so that measuring large sizes costs no memory.
std::size_t usable_by_trying(std::size_t n) noexcept {
  void* volatile block = std::malloc(n);  // volatile: compilers may drop a malloc and its free
  if (block == nullptr) return 0;
  const std::size_t usable = malloc_usable_size(block);
  std::free(block);
  return usable;
}

// Measured sizes, one entry a bucket: requests from `least` to `good` get `good` bytes. Buckets are 8 bytes wide up to
// 1 KiB, then 16 a doubling up to 1 MiB. An entry is one word, so that threads need no lock: 40 bits of good / 8, 24
// bits of (good - least) / 8.
class MeasuredClasses {
 public:
  constexpr MeasuredClasses() = default;

  std::size_t good_size(std::size_t n) noexcept {
    if (n > kLargestKept) return or_itself(usable_by_trying(n), n);
    std::atomic<std::uint64_t>& entry = entries_[bucket_of(n)];
    const std::uint64_t known = entry.load(std::memory_order_relaxed);
    const std::size_t good = known >> 24 << 3;
    const std::size_t span = (known & 0xff'ffff) << 3;
    if (n <= good && n >= good - span) return good;
    const std::size_t found = or_itself(usable_by_trying(n), n);
    if (found % 8 == 0) entry.store(found / 8 << 24 | (found - n) / 8, std::memory_order_relaxed);
    return found;
  }

 private:
  static constexpr std::size_t kLinear = 1024;
  static constexpr std::size_t kLargestKept = 1024 * 1024;

  static constexpr std::size_t or_itself(std::size_t usable, std::size_t n) noexcept { return usable < n ? n : usable; }

  static constexpr std::size_t bucket_of(std::size_t n) noexcept {
    if (n <= kLinear) return (n + 7) / 8;
    const int doubling = static_cast<int>(std::bit_width(n - 1)) - 1;  // n is in (2^doubling, 2^(doubling + 1)]
    const std::size_t sixteenth = ((n - 1) >> (doubling - 4)) & 15;
    return kLinear / 8 + 1 + static_cast<std::size_t>(doubling - 10) * 16 + sixteenth;
  }

  std::array<std::atomic<std::uint64_t>, kLinear / 8 + 1 + 10 * 16> entries_{};
};

constinit MeasuredClasses measured_classes;

std::size_t ask(GoodSizeSource source, std::size_t n) noexcept {
  switch (source) {
    case GoodSizeSource::Nallocx:
      return nallocx(n, 0);
    case GoodSizeSource::MiGoodSize:
      return mi_good_size(n);
    case GoodSizeSource::TcNallocx:
      return tc_nallocx(n, 0);
    case GoodSizeSource::MallocGoodSize:
      return malloc_good_size(n);
    case GoodSizeSource::GlibcFormula:
      return good_size(size_models::glibc, n);
    case GoodSizeSource::ScudoTable:
      return good_size(size_models::scudo_linux, n);
    case GoodSizeSource::Measured:
      return measured_classes.good_size(n);
    case GoodSizeSource::Nothing:
      break;
  }
  return n;
}

// Sizes at which any two allocators differ; 24 is a class of glibc's alone.
constexpr std::array<std::size_t, 6> kProbes{24, 40, 100, 1000, 1025, 5000};

struct Probe {
  std::size_t requested;
  std::size_t usable;
};
using Probes = std::array<Probe, kProbes.size()>;

bool agrees(GoodSizeSource source, const Probes& probes) noexcept {
  // glibc's blocks are 16 bytes larger if the rest of a free chunk would be too small for a chunk
  const std::size_t excess = source == GoodSizeSource::GlibcFormula ? 16 : 0;
  for (const Probe& probe : probes) {
    const std::size_t told = ask(source, probe.requested);
    if (probe.usable != told && probe.usable != told + excess) return false;
  }
  return true;
}

GoodSizeSource find_source(const Probes& probes) noexcept {
  if (nallocx != nullptr && agrees(GoodSizeSource::Nallocx, probes)) return GoodSizeSource::Nallocx;
  if (mi_good_size != nullptr && agrees(GoodSizeSource::MiGoodSize, probes)) return GoodSizeSource::MiGoodSize;
  if (tc_nallocx != nullptr && agrees(GoodSizeSource::TcNallocx, probes)) return GoodSizeSource::TcNallocx;
  if (malloc_good_size != nullptr && agrees(GoodSizeSource::MallocGoodSize, probes)) {
    return GoodSizeSource::MallocGoodSize;
  }
  if (agrees(GoodSizeSource::GlibcFormula, probes)) return GoodSizeSource::GlibcFormula;
  if (!agrees(GoodSizeSource::Nothing, probes)) return GoodSizeSource::Measured;
  return __scudo_print_stats != nullptr ? GoodSizeSource::ScudoTable : GoodSizeSource::Nothing;
}

// The source plus one; 0 until it is known. Two threads that come first both look, and find the same.
constinit std::atomic<int> found_source{0};

}  // namespace

GoodSizeSource good_size_source() noexcept {
  const int found = found_source.load(std::memory_order_relaxed);
  if (found != 0) return static_cast<GoodSizeSource>(found - 1);
  Probes probes;
  for (std::size_t i = 0; i < kProbes.size(); ++i) {
    probes[i] = {kProbes[i], usable_by_trying(kProbes[i])};
    if (probes[i].usable == 0) return GoodSizeSource::Nothing;  // out of memory: nothing is known yet
  }
  const GoodSizeSource source = find_source(probes);
  found_source.store(static_cast<int>(source) + 1, std::memory_order_relaxed);
  return source;
}

std::size_t good_size(std::size_t n) noexcept {
  if (n == 0) n = 1;
  if (n > kLargestRequest) return n;
  const std::size_t good = ask(good_size_source(), n);
  return good < n ? n : good;  // nallocx is 0 where jemalloc can't serve n
}

std::string_view name_of(GoodSizeSource source) noexcept {
  switch (source) {
    case GoodSizeSource::Nallocx:
      return "nallocx";
    case GoodSizeSource::MiGoodSize:
      return "mi_good_size";
    case GoodSizeSource::TcNallocx:
      return "tc_nallocx";
    case GoodSizeSource::MallocGoodSize:
      return "malloc_good_size";
    case GoodSizeSource::GlibcFormula:
      return "glibc_formula";
    case GoodSizeSource::ScudoTable:
      return "scudo_table";
    case GoodSizeSource::Measured:
      return "measured";
    case GoodSizeSource::Nothing:
      return "nothing";
  }
  return "unknown";
}

}  // namespace tare::inline TARE_ABI
