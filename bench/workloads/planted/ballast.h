// Shared by the planted programs: memory in use without findings, and the true waste that they print.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace planted {

inline std::uint64_t random_word() {
  static std::uint64_t state = 88172645463325252;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

// Odd words, so that none looks like a pointer to the start of a block, and no high half that looks like an address.
inline void fill(void* to, std::size_t bytes) {
  auto* words = static_cast<std::uint32_t*>(to);
  for (std::size_t i = 0; i < bytes / 4; ++i) words[i] = static_cast<std::uint32_t>(random_word()) | 0x8000'0001;
}

// Blocks of 304 to 688 bytes, written in full, with different contents.
class Ballast {
 public:
  explicit Ballast(std::size_t bytes) : count_(bytes / 512), blocks_(new Block[count_]) {
    for (std::size_t i = 0; i < count_; ++i) {
      blocks_[i].bytes = 304 + random_word() % 49 * 8;
      blocks_[i].words = static_cast<std::uint64_t*>(std::malloc(blocks_[i].bytes));
      fill(blocks_[i].words, blocks_[i].bytes);
    }
  }
  ~Ballast() {
    for (std::size_t i = 0; i < count_; ++i) std::free(blocks_[i].words);
  }
  Ballast(const Ballast&) = delete;
  Ballast& operator=(const Ballast&) = delete;

  // Reads and writes all of it, so that none of it lies idle.
  std::uint64_t use(int rounds = 1) {
    std::uint64_t sum = 0;
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < count_; ++i) {
        for (std::size_t word = 0; word < blocks_[i].bytes / 8; ++word) sum += blocks_[i].words[word] ^= 2;
      }
    }
    return sum;
  }

 private:
  struct Block {
    std::uint64_t* words;
    std::size_t bytes;
  };
  std::size_t count_;
  std::unique_ptr<Block[]> blocks_;
};

// Prints the gain that a remedy has, in bytes of the peak or in calls of the allocator, and the peak RSS in KiB. A
// program that Python starts has Python's peak in its rusage.
inline void truth(std::size_t amount) {
  std::size_t peak_kib = 0;
  char line[256];
  if (std::FILE* status = std::fopen("/proc/self/status", "r")) {
    while (std::fgets(line, sizeof line, status) != nullptr) std::sscanf(line, "VmHWM: %zu", &peak_kib);
    std::fclose(status);
  }
  std::printf("%zu %zu\n", amount, peak_kib);
}

inline volatile std::uint64_t sink;

}  // namespace planted
