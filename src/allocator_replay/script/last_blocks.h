// The blocks that each thread allocated since its last free: one of them took over from the block that is freed next,
// if a container grows by malloc, copy and free (as in src/core/analysis/growth_ring.h, for a few sites only).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace tare::core {

class LastBlocks {
 public:
  static constexpr std::size_t kMost = 8;

  void allocated(std::uint32_t thread, std::uint64_t address) {
    Ring& ring = rings_[thread];
    ring.addresses[ring.count++ % kMost] = address;
  }
  void freed(std::uint32_t thread) {
    if (const auto ring = rings_.find(thread); ring != rings_.end()) ring->second.count = 0;
  }

  // The address of the youngest block that `accepts`, of those that are younger than the block at `than`; 0: none.
  template <typename Accepts>
  std::uint64_t youngest(std::uint32_t thread, std::uint64_t than, Accepts&& accepts) const {
    const auto found = rings_.find(thread);
    if (found == rings_.end()) return 0;
    const Ring& ring = found->second;
    for (std::size_t back = 1; back <= ring.count && back <= kMost; ++back) {
      const std::uint64_t address = ring.addresses[(ring.count - back) % kMost];
      if (address == than) return 0;
      if (accepts(address)) return address;
    }
    return 0;
  }

 private:
  struct Ring {
    std::size_t count = 0;
    std::array<std::uint64_t, kMost> addresses{};
  };
  std::unordered_map<std::uint32_t, Ring> rings_;
};

}  // namespace tare::core
