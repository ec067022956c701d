// Addresses freed last, newest first: what an allocator is likely to hand out next.
#pragma once

#include <emmintrin.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tare::trace {

// Always of full length: zeros stand for what isn't there.
class FreedList {
 public:
  static constexpr std::uint32_t kDepth = 32;

  std::uint64_t newest() const { return ring_[head_]; }
  std::uint64_t at(std::uint32_t depth) const { return ring_[(head_ - depth) % kDepth]; }

  // How deep `address` lies, kDepth if it isn't there. Two that agree in bits 4 to 35 may hide the deeper one.
  std::uint32_t find(std::uint64_t address) const {
    // All places at once: looking at one after the other took a fifth of the time to encode a compiler's events.
    const __m128i key = _mm_set1_epi32(static_cast<int>(key_of(address)));
    const std::uint32_t places = equal_sixteen(0, key) | equal_sixteen(16, key) << 16;
    if (places == 0) return kDepth;
    const std::uint32_t by_age = std::rotl(places, static_cast<int>(kDepth - 1 - head_));  // the newest on top
    const std::uint32_t depth = static_cast<std::uint32_t>(std::countl_zero(by_age));
    return at(depth) == address ? depth : kDepth;
  }

  void push(std::uint64_t address) {
    head_ = (head_ + 1) % kDepth;
    put(head_, address);
    pushed_ += pushed_ < kDepth;
  }
  void drop_newest() {
    put(head_, 0);
    head_ = (head_ - 1) % kDepth;
  }
  void drop(std::uint32_t depth) {
    for (; depth > 0; --depth) put((head_ - depth) % kDepth, at(depth - 1));
    drop_newest();
  }
  // Sizes that share a slot take turns, and few addresses come in between: what isn't zero is among the newest as many
  // as were pushed.
  void clear() {
    for (std::uint32_t depth = 0; depth < pushed_; ++depth) put((head_ - depth) % kDepth, 0);
    pushed_ = 0;
  }

 private:
  static std::uint32_t key_of(std::uint64_t address) { return static_cast<std::uint32_t>(address >> 4); }
  void put(std::uint32_t place, std::uint64_t address) {
    ring_[place] = address;
    keys_[place] = key_of(address);
  }
  // A bit for each of 16 places.
  std::uint32_t equal_sixteen(std::size_t first, __m128i key) const {
    const auto four = [&](std::size_t at) {
      return _mm_cmpeq_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(&keys_[at])), key);
    };
    const __m128i low = _mm_packs_epi32(four(first), four(first + 4));
    const __m128i high = _mm_packs_epi32(four(first + 8), four(first + 12));
    return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(low, high)));
  }

  alignas(16) std::array<std::uint32_t, kDepth> keys_{};
  std::array<std::uint64_t, kDepth> ring_{};
  std::uint32_t head_ = 0;
  std::uint32_t pushed_ = 0;  // since it was cleared, at most kDepth
};

}  // namespace tare::trace
