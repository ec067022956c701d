// tare/text_lengths.h: how long a program's texts are, so that the size of a stream's inside can be chosen by a table.
//
//   $ c++ -DTARE_COUNT_TEXT_LENGTHS main.cc              // in all of the program's files that use tare::TextStream
//   std::fputs(tare::TextLengthsCounted::table(), stderr);
//
//   <32: 449 (84%), <48: 54 (10%), <64: 26 (4%), >=64: 4 (0%)
//
// That is the table by which OpenJDK chose 48 (JDK-8260030). To count one part of a program without the macro, use
// BasicTextStream<48, TextLengthsOf<struct MyPart>>.
//
// Counting costs an atomic increment a stream; not counting costs nothing, no byte and no instruction. A stream counts
// when it's reset, taken from or destroyed; one that was moved from counts as empty. Any thread, any time.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "tare/version.h"

namespace tare::inline TARE_ABI {

// The default: nothing is counted.
struct TextLengthsIgnored {
  static constexpr void note(std::size_t /*size_bytes*/) noexcept {}
};

// How many texts there were of less than 32, 48 and 64 bytes, and of more, each in the first class it fits.
struct TextLengthCounts {
  std::uint64_t below_32 = 0;
  std::uint64_t below_48 = 0;
  std::uint64_t below_64 = 0;
  std::uint64_t longer = 0;

  std::uint64_t total() const noexcept { return below_32 + below_48 + below_64 + longer; }
};

// Counts of the streams that name this type; `Part` distinguishes counts and needn't be a complete type.
template <typename Part>
class TextLengthsOf {
 public:
  static void note(std::size_t size_bytes) noexcept {
    const std::size_t which = size_bytes < 32 ? 0 : size_bytes < 48 ? 1 : size_bytes < 64 ? 2 : 3;
    counts[which].fetch_add(1, std::memory_order_relaxed);
  }

  static TextLengthCounts so_far() noexcept {
    return {counts[0].load(std::memory_order_relaxed), counts[1].load(std::memory_order_relaxed),
            counts[2].load(std::memory_order_relaxed), counts[3].load(std::memory_order_relaxed)};
  }

  static void forget() noexcept {
    for (auto& count : counts) count.store(0, std::memory_order_relaxed);
  }

  // The table as one line of text, in memory of the calling thread's that its next call overwrites.
  static const char* table() noexcept {
    thread_local std::array<char, 160> text;
    const TextLengthCounts now = so_far();
    const std::uint64_t all = now.total() > 0 ? now.total() : 1;
    const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
    const auto share = [&](std::uint64_t value) { return number(value * 100 / all); };
    std::snprintf(text.data(), text.size(),
                  "<32: %llu (%llu%%), <48: %llu (%llu%%), <64: %llu (%llu%%), >=64: %llu (%llu%%)\n",
                  number(now.below_32), share(now.below_32), number(now.below_48), share(now.below_48),
                  number(now.below_64), share(now.below_64), number(now.longer), share(now.longer));
    return text.data();
  }

 private:
  static inline constinit std::array<std::atomic<std::uint64_t>, 4> counts{};
};

// All of a program's streams that are built with TARE_COUNT_TEXT_LENGTHS. It gives tare::TextStream another type, so
// that files built with and without it don't link where they hand streams to each other; as TextWriter& they do.
using TextLengthsCounted = TextLengthsOf<void>;

}  // namespace tare::inline TARE_ABI
