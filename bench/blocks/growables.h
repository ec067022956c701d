// Growing arrays of bytes behind one interface, for the bench of buffers: ours, peers and models of bad habits.
#pragma once

#include <absl/container/inlined_vector.h>
#include <llvm/ADT/SmallVector.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "tare/buffer.h"

namespace tare::bench {

using Piece = std::span<const char>;

template <typename Growth>
struct TareBuffer {
  Buffer<char, Growth> buffer;
  void reserve(std::size_t) {}
  void append(Piece piece) {
    if (!buffer.append_all(piece)) std::abort();
  }
  const void* block() const { return buffer.data(); }
};

// The count is known: nobody can do with less.
struct Exact {
  Buffer<char> buffer;
  void reserve(std::size_t size) {
    if (!buffer.reserve_exactly(size)) std::abort();
  }
  void append(Piece piece) {
    if (!buffer.append_all(piece)) std::abort();
  }
  const void* block() const { return buffer.data(); }
};

struct StdVector {
  std::vector<char> vector;
  void reserve(std::size_t) {}
  void append(Piece piece) { vector.insert(vector.end(), piece.begin(), piece.end()); }
  const void* block() const { return vector.data(); }
};

struct StdString {
  std::string string;
  void reserve(std::size_t) {}
  void append(Piece piece) { string.append(piece.data(), piece.size()); }
  // short strings lie in the object
  const void* block() const { return string.capacity() > 15 ? string.data() : nullptr; }
};

struct LlvmSmallVector {
  llvm::SmallVector<char, 0> vector;
  void reserve(std::size_t) {}
  void append(Piece piece) { vector.append(piece.begin(), piece.end()); }
  const void* block() const { return vector.data(); }
};

struct AbslInlinedVector {
  absl::InlinedVector<char, 16> vector;
  void reserve(std::size_t) {}
  void append(Piece piece) { vector.insert(vector.end(), piece.begin(), piece.end()); }
  const void* block() const { return vector.capacity() > 16 ? vector.data() : nullptr; }
};

// An array by realloc whose next capacity `Policy` tells, and that has kHeader bytes of its own before the data.
template <typename Policy, std::size_t kHeader = 0>
struct Modelled {
  char* memory = nullptr;
  std::size_t size = 0;
  std::size_t capacity = 0;
  Modelled() = default;
  Modelled(Modelled&& other) noexcept
      : memory(std::exchange(other.memory, nullptr)), size(other.size), capacity(other.capacity) {}
  Modelled& operator=(Modelled&& other) noexcept {
    std::swap(memory, other.memory);
    size = other.size;
    capacity = other.capacity;
    return *this;
  }
  ~Modelled() { std::free(memory); }
  void reserve(std::size_t) {}
  void append(Piece piece) {
    if (size + piece.size() > capacity) {
      capacity = Policy::next(capacity, size + piece.size());
      memory = static_cast<char*>(std::realloc(memory, kHeader + capacity));
    }
    std::memcpy(memory + kHeader + size, piece.data(), piece.size());
    size += piece.size();
  }
  const void* block() const { return memory; }
};

struct JustEnough {
  static std::size_t next(std::size_t, std::size_t needed) { return needed; }
};
struct HalfAsMuchAgain {
  static std::size_t next(std::size_t current, std::size_t needed) { return std::max(needed, current + current / 2); }
};
struct PowersOfTwo {
  static std::size_t next(std::size_t, std::size_t needed) { return std::bit_ceil(needed); }
};

}  // namespace tare::bench
