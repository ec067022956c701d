// tare/size_classes.h: the real size of a malloc of n bytes, for the allocators in wide use.
//
// Allocators serve a request with the next of a fixed set of sizes. The difference is slop: bytes that are paid for and
// not used. A caller that may choose its size (a growing buffer, an arena chunk) chooses one without slop:
//
//   std::size_t capacity = tare::good_size(tare::size_models::glibc, wanted);  // >= wanted, and free up to there
//   tare::SizeClass taken = tare::size_class(tare::size_models::jemalloc, 4135);
//   std::size_t slop = taken.usable_bytes - 4135;                              // 985
//
// or by name: tare::find_size_model("mimalloc2"). For the allocator of the running program, see tare/good_size.h.
//
// Sizes are in bytes, for plain malloc on 64-bit Linux with 4 KiB pages; alignments above 16 may take more. Everything
// is constexpr, allocates nothing, and may be called from any thread. Header only, C++20, no dependencies.
//
// Tested here against the real ones: glibc 2.36, jemalloc 5.3, mimalloc 2.0.9, gperftools 2.10 (every size up to 64
// KiB, samples up to 64 MiB), musl 1.2.3 (22 sizes). The others follow their sources and were not run: mozjemalloc,
// mimalloc 3, snmalloc 2, Scudo (LLVM 15 on), PartitionAlloc, Google's TCMalloc (8 KiB pages), macOS' libmalloc, and
// jemalloc as Firefox had it in 2011. `make check-size-models` compares the models with the allocators that are
// installed, size by size, and prints their versions.
//
// Deviations: glibc hands out up to 16 bytes more if the rest of a free chunk would be too small for a chunk, and
// raises its threshold for mappings of their own (128 KiB) as such blocks are freed. Large blocks of all allocators may
// be larger when a cached extent is used again. musl serves the first blocks of a size with the next class, and some by
// mappings of their own.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "tare/version.h"

namespace tare::inline TARE_ABI {

static_assert(sizeof(std::size_t) == 8, "the models are of 64-bit allocators");

// How one request is served.
struct SizeClass {
  std::size_t usable_bytes;  // the result of malloc_usable_size
  // the largest request that is served alike: usable_bytes, save where that hides it (Scudo)
  std::size_t capacity_bytes;
  std::size_t slot_bytes;    // the block's heap bytes, with its header
  std::size_t header_bytes;  // of those, the allocator's own books
  std::string_view name;     // kind of class, in the allocator's words: "small", "large", "huge", "mmapped"
};

// Larger requests fail everywhere: a block can't exceed PTRDIFF_MAX, and rounding up must not overflow.
inline constexpr std::size_t kLargestRequest = std::numeric_limits<std::size_t>::max() / 2 - (std::size_t{1} << 23);

// One allocator: a name, and how it serves n bytes. n is at most kLargestRequest.
struct SizeModel {
  std::string_view name;
  std::string_view meaning;
  SizeClass (*serve)(std::size_t n);
};

namespace size_model_details {

inline constexpr std::size_t kKiB = 1024;
inline constexpr std::size_t kMiB = 1024 * 1024;
inline constexpr std::size_t kPage = 4096;

constexpr std::size_t round_up(std::size_t n, std::size_t unit) { return (n + unit - 1) / unit * unit; }

// 2^steps classes a doubling above `linear`, multiples of 16 below: spacing grows with size, slop stays under a share.
constexpr std::size_t geometric(std::size_t n, std::size_t linear, int steps) {
  if (n <= linear) return round_up(std::max<std::size_t>(n, 1), 16);
  return round_up(n, std::bit_floor(n - 1) >> steps);
}

template <std::size_t kCount>
constexpr std::size_t listed(const std::array<std::size_t, kCount>& classes, std::size_t n, std::size_t unit_above) {
  const auto fits = std::lower_bound(classes.begin(), classes.end(), n);
  return fits == classes.end() ? round_up(n, unit_above) : *fits;
}

// Without a header before the block: all of the slot is the caller's.
constexpr SizeClass whole_slot(std::size_t slot, std::string_view name) { return {slot, slot, slot, 0, name}; }

constexpr SizeClass glibc(std::size_t n) {
  constexpr std::size_t kLeastChunk = 32;
  constexpr std::size_t kLargeBins = 1024;  // chunks from here on are in bins of several sizes
  constexpr std::size_t kMmapThreshold = 128 * kKiB;
  const std::size_t chunk = std::max(kLeastChunk, round_up(n + 8, 16));
  if (chunk < kMmapThreshold) return {chunk - 8, chunk - 8, chunk, 8, chunk < kLargeBins ? "small" : "large"};
  // A request for the usable size of a mapping gets one page more: room for the next chunk's size is added before
  // rounding.
  const std::size_t mapping = round_up(chunk + 8, kPage);
  return {mapping - 16, mapping - 24, mapping, 16, "mmapped"};
}

constexpr SizeClass jemalloc(std::size_t n) {
  const std::size_t slot = n <= 8 ? 8 : geometric(n, 128, 2);
  return whole_slot(slot, slot <= 14 * kKiB ? "small" : "large");
}

constexpr SizeClass mozjemalloc(std::size_t n) {
  if (n <= 8) return whole_slot(8, "tiny");
  if (n <= 496) return whole_slot(round_up(n, 16), "quantum");
  if (n <= 3840) return whole_slot(round_up(n, 256), "quantum-wide");
  return whole_slot(round_up(n, kPage), n <= 1020 * kKiB ? "large" : "huge");
}

// The table in jemalloc.c that the post "Clownshoes available in sizes 2^10+1 and up!" shows.
constexpr SizeClass jemalloc_2011(std::size_t n) {
  if (n <= 8) return whole_slot(n <= 2 ? 2 : n <= 4 ? 4 : 8, "small");
  if (n <= 512) return whole_slot(round_up(n, 16), "small");
  if (n <= 2 * kKiB) return whole_slot(n <= kKiB ? kKiB : 2 * kKiB, "small");
  if (n <= 1020 * kKiB) return whole_slot(round_up(n, kPage), "large");
  return whole_slot(round_up(n, kMiB), "huge");
}

constexpr SizeClass mimalloc2(std::size_t n) {
  if (n <= 8) return whole_slot(8, "small");
  if (n <= 128 * kKiB) return whole_slot(geometric(n, 64, 2), n <= 16 * kKiB ? "small" : "medium");
  const std::size_t unit = n <= 512 * kKiB ? 64 * kKiB : n <= 8 * kMiB ? 512 * kKiB : n <= 32 * kMiB ? kMiB : 4 * kMiB;
  return whole_slot(round_up(n, unit), n <= 16 * kMiB ? "large" : "huge");
}

constexpr SizeClass mimalloc3(std::size_t n) {
  if (n <= 8) return whole_slot(8, "small");
  if (n <= 512 * kKiB)
    return whole_slot(geometric(n, 64, 2), n <= 8 * kKiB ? "small" : n <= 64 * kKiB ? "medium" : "large");
  return whole_slot(round_up(n, kPage), "huge");
}

constexpr SizeClass snmalloc(std::size_t n) {
  if (n <= 64 * kKiB) return whole_slot(geometric(n, 64, 2), "small");
  return whole_slot(std::bit_ceil(n), "large");
}

// Scudo's malloc_usable_size returns n, so that no program relies on more; the header lies in the slot.
constexpr SizeClass scudo(std::size_t n, std::size_t slot, std::size_t largest_class) {
  return {n, slot - 16, slot, 16, slot <= largest_class ? "primary" : "secondary"};
}

constexpr SizeClass scudo_linux(std::size_t n) {
  constexpr std::size_t kLargestClass = 128 * kKiB;
  const std::size_t needed = round_up(n, 16) + 16;
  if (needed <= 256) return scudo(n, round_up(needed, 32), kLargestClass);
  return scudo(n, needed <= kLargestClass ? geometric(needed, 256, 2) : round_up(needed, kPage), kLargestClass);
}

inline constexpr std::array<std::size_t, 32> kScudoAndroidClasses{
    32,   48,   64,   80,   96,   112,  144,  176,  192,   224,   288,   352,   448,   592,   800,   1104,
    1648, 2096, 2576, 3120, 4112, 4624, 7120, 8720, 11664, 14224, 16400, 18448, 23056, 29456, 33296, 65552};

constexpr SizeClass scudo_android(std::size_t n) {
  return scudo(n, listed(kScudoAndroidClasses, round_up(n, 16) + 16, kPage), kScudoAndroidClasses.back());
}

// In units of 16 bytes. 4 bytes of each slot are the next block's header; a mapping of its own has 16 more in front.
inline constexpr std::array<std::size_t, 48> kMuslClasses{
    1,   2,   3,   4,    5,    6,    7,    8,    9,    10,   12,   15,   18,   20,   25,   31,
    36,  42,  50,  63,   72,   84,   102,  127,  146,  170,  204,  255,  292,  340,  409,  511,
    584, 682, 818, 1023, 1169, 1364, 1637, 2047, 2340, 2730, 3276, 4095, 4680, 5460, 6552, 8191};

// malloc_usable_size returns n there, too.
constexpr SizeClass musl(std::size_t n) {
  const std::size_t slot = n + 4 <= 16 * kMuslClasses.back()
                               ? 16 * listed(kMuslClasses, round_up(std::max<std::size_t>(n + 4, 1), 16) / 16, 1)
                               : round_up(n + 20, kPage);
  if (slot <= 16 * kMuslClasses.back()) return {n, slot - 4, slot, 4, "slot"};
  return {n, slot - 20, slot, 20, "mmapped"};
}

constexpr SizeClass partition_with(std::size_t n, std::size_t linear, int steps) {
  constexpr std::size_t kLargestBucket = 960 * kKiB;
  if (n > kLargestBucket) return whole_slot(round_up(n, kPage), "direct-mapped");
  return whole_slot(std::min(geometric(n, linear, steps), kLargestBucket), "bucketed");
}
constexpr SizeClass partition(std::size_t n) { return partition_with(n, 256, 2); }
constexpr SizeClass partition_dense(std::size_t n) { return partition_with(n, 128, 3); }

inline constexpr std::array<std::size_t, 47> kTcmallocClasses{
    8,     16,    32,    64,    80,    96,    112,   128,   160,   176,   208,   256,    304,    368,    448,   512,
    576,   704,   896,   1024,  1152,  1408,  1792,  2048,  2304,  2688,  3456,  4096,   4736,   6144,   8192,  9472,
    12288, 16384, 20480, 28672, 32768, 40960, 49152, 65536, 73728, 81920, 98304, 131072, 155648, 204800, 262144};

constexpr SizeClass tcmalloc(std::size_t n) {
  return whole_slot(listed(kTcmallocClasses, n, 8 * kKiB), n <= kTcmallocClasses.back() ? "small" : "large");
}

// gperftools computes its classes when it starts: candidates are spaced by an eighth of their power of two; each gets
// as many 8 KiB pages as keep the rest below an eighth; neighbours that get as many objects from as many pages become
// one.
struct GperftoolsClasses {
  static constexpr std::size_t kPageBytes = 8 * kKiB;
  static constexpr std::size_t kLargest = 256 * kKiB;
  static constexpr std::size_t kMost = 128;

  struct Class {
    std::size_t bytes = 0;
    std::size_t pages = 0;
  };

  static constexpr std::size_t spacing(std::size_t bytes) {
    if (bytes >= 128) return std::min(std::bit_floor(bytes) / 8, kPageBytes);
    return bytes >= 16 ? 16 : 8;
  }

  static constexpr std::size_t pages_for(std::size_t bytes) {
    const std::size_t moved_at_once = std::clamp<std::size_t>(64 * kKiB / bytes, 2, 32);
    std::size_t span = 0;
    do {
      span += kPageBytes;
      while (span % bytes > span / 8) span += kPageBytes;
    } while (span / bytes < moved_at_once / 4);
    return span / kPageBytes;
  }

  static constexpr std::size_t objects(Class c) { return c.pages * kPageBytes / c.bytes; }

  static constexpr auto make() {
    std::array<Class, kMost> made{};
    std::size_t count = 0;
    for (std::size_t bytes = 8; bytes <= kLargest; bytes += spacing(bytes)) {
      const Class next{bytes, pages_for(bytes)};
      const bool like_the_last =
          count > 0 && made[count - 1].pages == next.pages && objects(made[count - 1]) == objects(next);
      if (!like_the_last) ++count;
      made[count - 1] = next;
    }
    return std::pair(made, count);
  }
};

inline constexpr auto kGperftoolsClasses = [] {
  constexpr auto kMade = GperftoolsClasses::make();
  std::array<std::size_t, kMade.second> classes{};
  for (std::size_t i = 0; i < classes.size(); ++i) classes[i] = kMade.first[i].bytes;
  return classes;
}();

constexpr SizeClass gperftools(std::size_t n) {
  return whole_slot(listed(kGperftoolsClasses, n, GperftoolsClasses::kPageBytes),
                    n <= GperftoolsClasses::kLargest ? "small" : "large");
}

// The regions tiny, small, medium and large; without the nano zone, whose quanta are tiny's, and xzones (macOS 15).
constexpr SizeClass macos(std::size_t n) {
  constexpr std::size_t kLargePage = 16 * kKiB;
  if (n <= 1008) return whole_slot(round_up(std::max<std::size_t>(n, 1), 16), "tiny");
  if (n <= 32 * kKiB) return whole_slot(round_up(n, 512), "small");
  if (n <= 8 * kMiB) return whole_slot(round_up(n, 32 * kKiB), "medium");
  return whole_slot(round_up(n, kLargePage), "large");
}

}  // namespace size_model_details

// The models, listed once: X(identifier, name, meaning). Each is named after the version of its classes: others may
// differ.
#define TARE_SIZE_MODELS(X)                                                                      \
  X(glibc, "glibc", "glibc 2.36's malloc (ptmalloc): 8 bytes before each block")                 \
  X(jemalloc, "jemalloc", "jemalloc 5.3: four classes a doubling")                               \
  X(mozjemalloc, "mozjemalloc", "Firefox's jemalloc since 2022")                                 \
  X(jemalloc_2011, "jemalloc-2011", "Firefox's jemalloc of 2011: powers of two above 512 bytes") \
  X(mimalloc2, "mimalloc2", "mimalloc 2.0.9; 2.4 has other classes above 128 KiB")               \
  X(mimalloc3, "mimalloc3", "mimalloc 3.4.3, by its source")                                     \
  X(snmalloc, "snmalloc", "snmalloc 2: powers of two above 64 KiB")                              \
  X(scudo_linux, "scudo", "Scudo as in LLVM 15 on Linux: 16-byte headers")                       \
  X(scudo_android, "scudo-android", "Scudo with Android's classes, LLVM 15")                     \
  X(partition, "partition", "Chromium's PartitionAlloc at 938956eb, neutral buckets")            \
  X(partition_dense, "partition-dense", "Chromium's PartitionAlloc at 938956eb, dense buckets")  \
  X(tcmalloc, "tcmalloc", "Google's TCMalloc at fce3f55d, 8 KiB pages")                          \
  X(gperftools, "gperftools", "gperftools 2.10's tcmalloc, 8 KiB pages")                         \
  X(musl, "musl", "musl 1.2.1 to 1.2.5 (mallocng): 4 bytes before each block")                   \
  X(macos, "macos", "libmalloc of macOS 10.15 to 14 on arm64: 16s to 1,008 bytes, then 512s to 32 KiB")

namespace size_models {
#define TARE_SIZE_MODEL(id, text, meaning) inline constexpr SizeModel id{text, meaning, size_model_details::id};
TARE_SIZE_MODELS(TARE_SIZE_MODEL)
#undef TARE_SIZE_MODEL
}  // namespace size_models

inline constexpr std::array kSizeModels{
#define TARE_SIZE_MODEL(id, text, meaning) size_models::id,
    TARE_SIZE_MODELS(TARE_SIZE_MODEL)
#undef TARE_SIZE_MODEL
};

// Null if there is no model of that name.
constexpr const SizeModel* find_size_model(std::string_view name) {
  for (const SizeModel& model : kSizeModels) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

// How `model` serves n bytes. A request that no allocator can serve has its own size and class "impossible".
constexpr SizeClass size_class(const SizeModel& model, std::size_t n) {
  return n <= kLargestRequest ? model.serve(n) : SizeClass{n, n, n, 0, "impossible"};
}

// The largest request at the price of n: at least n, and without slop.
constexpr std::size_t good_size(const SizeModel& model, std::size_t n) { return size_class(model, n).capacity_bytes; }

// The largest request that is served by a smaller class than n is; 0 if there is none.
constexpr std::size_t class_below(const SizeModel& model, std::size_t n) {
  const std::size_t capacity = good_size(model, n);
  std::size_t smaller = 0;  // invariant: served by a smaller class, or 0
  std::size_t same = n;     // invariant: served as n is
  if (good_size(model, 0) == capacity) return 0;
  while (same - smaller > 1) {
    const std::size_t middle = smaller + (same - smaller) / 2;
    (good_size(model, middle) < capacity ? smaller : same) = middle;
  }
  return smaller;
}

// True if n is a clownshoe: a request just above a class, so that much of the block is slop. Typically a power of two
// plus a header or a terminating zero, where a size without slop was meant.
//
// - Just above: by an eighth of the class below at most. A header of 40 bytes on a 512-byte arena chunk is 8 %, whereas
//   680 bytes are 33 % above 512 and nobody's mistake.
// - Much: an eighth of the block at least. Allocators with four classes a doubling lose at most a fifth, and there a
//   power of two plus a header loses nearly that; classes 16 bytes apart lose less than an eighth from 128 bytes on.
// - And 64 bytes at least, a cache line: the rounding of small objects (24 to 32, 72 to 80) isn't a choice.
constexpr bool is_clownshoe(const SizeModel& model, std::size_t n) {
  const std::size_t capacity = good_size(model, n);
  const std::size_t slop = capacity - n;
  if (slop < 64 || slop < capacity / 8) return false;
  const std::size_t below = class_below(model, n);
  return below > 0 && n - below <= below / 8;
}

}  // namespace tare::inline TARE_ABI
