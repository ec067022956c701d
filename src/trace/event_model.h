// What encoder and decoder of event blocks both expect to come next. Whatever changes here changes the format: see
// FORMAT.md.
//
// Programs repeat themselves: the same few allocations follow each other, malloc hands out what was freed last, and
// what is freed was mostly allocated a moment ago. Each guess that holds costs a byte that zstd then packs to a tenth.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "trace/event.h"
#include "trace/mix_hash.h"

namespace tare::trace {

inline constexpr std::uint32_t kMaxBlockEvents = 1 << 17;

// Everything that can follow: frees by entry point, and allocations, reallocs and mappings by shape.
using Symbol = std::uint32_t;
enum class ShapeUse : std::uint32_t { Alloc = 0, Realloc = 1, Map = 2, Unmap = 3 };
inline constexpr Symbol kFirstShapeSymbol = 32;
inline constexpr std::uint32_t kMaxShapes = 1u << 29;
constexpr Symbol shape_symbol(ShapeId shape, ShapeUse use) {
  return kFirstShapeSymbol + index(shape) * 4 + static_cast<std::uint32_t>(use);
}
constexpr ShapeId shape_of(Symbol symbol) { return ShapeId{(symbol - kFirstShapeSymbol) / 4}; }
constexpr ShapeUse use_of(Symbol symbol) { return static_cast<ShapeUse>((symbol - kFirstShapeSymbol) % 4); }

// Symbols after the last ones: one guess by the last three, two by the last one.
class SymbolModel {
 public:
  static constexpr int kGuesses = 5;

  void reset();
  Symbol guess(int which) const { return which == 0 ? *slow_ : fast_[which - 1]; }
  // Tells what came. `token` stands for it in the history: the symbol, or for a free what kind of block it ended.
  void saw(Symbol symbol) {
    *slow_ = symbol;
    int way = 0;
    while (way < kWays - 1 && fast_[way] != symbol) ++way;
    for (; way > 0; --way) fast_[way] = fast_[way - 1];
    fast_[0] = symbol;
  }
  void remember(std::uint32_t token) {
    history_ = history_ << 20 ^ (token * 0x9e3779b1u >> 12);  // 3 tokens of 20 bits
    context_ = mix_hash(history_ & 0xfffffffffffffffull, 1) >> 40 & (kByThree - 1);
    slow_ = &by_three_[context_];
    fast_ = &by_one_[(history_ & 0xfffff) % kByOne * kWays];
  }
  // Of the last three tokens; also what frees are guessed by.
  std::size_t context() const { return context_; }

  static constexpr std::size_t kByThree = 1 << 14;

 private:
  static constexpr std::size_t kByOne = 1 << 12;
  static constexpr int kWays = kGuesses - 1;
  std::vector<Symbol> by_three_;
  std::vector<Symbol> by_one_;
  Symbol* slow_ = nullptr;
  Symbol* fast_ = nullptr;
  std::uint64_t history_ = 0;
  std::size_t context_ = 0;
};

// The blocks allocated since the event block began, and where the allocator will put the next one.
class AddressModel {
 public:
  // Codes below are guesses, the codes themselves say that none was right.
  static constexpr std::uint8_t kAllocOther = 38;
  static constexpr std::uint8_t kFreeOther = 8;
  static constexpr std::uint32_t kNoBlock = 0xffffffffu;

  AddressModel();
  void reset();

  // The first guess that is `address`, and the address that a guess means.
  std::uint8_t find_alloc(std::uint64_t usable_bytes, std::uint64_t address);
  std::uint64_t guess_alloc(std::uint64_t usable_bytes, std::uint8_t code);
  // The same for blocks by number. `context` is SymbolModel's. kNoBlock where there's nothing to guess.
  std::uint8_t find_free(std::uint32_t block, std::size_t context) const;
  std::uint32_t guess_free(std::uint8_t code, std::size_t context) const;
  // What an address that nothing guessed is counted from.
  std::uint64_t alloc_base() const { return last_alloc_; }
  std::uint64_t foreign_base() const { return last_foreign_; }

  // What happened. `code`: the guess that was right, or kAllocOther.
  void allocated(std::uint64_t address, ShapeId shape, std::uint64_t usable_bytes, std::uint8_t code);
  void freed(std::uint32_t block, std::size_t context);
  // Freed, but allocated before this event block or by another thread.
  void freed_foreign(std::uint64_t address);

  std::uint32_t block_count() const { return block_count_; }
  std::uint64_t address_of(std::uint32_t block) const { return blocks_[block].address; }
  ShapeId shape_of(std::uint32_t block) const { return blocks_[block].shape; }
  bool live(std::uint32_t block) const { return blocks_[block].live; }

 private:
  // Addresses freed last, newest first. Allocators hand out the newest of a size most of the time, but with per-thread
  // caches, sorted bins and splitting one of the last 32 another fifth of it.
  template <std::uint32_t kDepth>
  class Freed {
   public:
    std::uint64_t at(std::uint32_t depth) const { return ring_[(head_ - depth) % kDepth]; }
    // kDepth where it isn't there.
    std::uint32_t find(std::uint64_t address) const {
      // Mostly it isn't: ask that of all places at once, by 32 bits of each, before looking where.
      const std::uint32_t key = key_of(address);
      std::uint32_t any = 0;
      for (std::uint32_t i = 0; i < kDepth; i += 4) {
        Keys four;
        __builtin_memcpy(&four, &keys_[i], sizeof(four));
        const Keys equal = four == key;
        any |= equal[0] | equal[1] | equal[2] | equal[3];
      }
      if (any == 0) return kDepth;
      for (std::uint32_t depth = 0; depth < kDepth; ++depth) {
        if (at(depth) == address) return depth;
      }
      return kDepth;
    }
    void push(std::uint64_t address) { put(++head_, address); }
    void drop(std::uint32_t depth) {
      for (; depth > 0; --depth) put(head_ - depth, at(depth - 1));
      put(head_--, 0);
    }

   private:
    static_assert(kDepth <= 32 && (kDepth & (kDepth - 1)) == 0);
    typedef std::uint32_t Keys __attribute__((vector_size(16)));
    static std::uint32_t key_of(std::uint64_t address) { return static_cast<std::uint32_t>(address >> 4); }
    void put(std::uint32_t place, std::uint64_t address) {
      ring_[place % kDepth] = address;
      keys_[place % kDepth] = key_of(address);
    }
    std::array<std::uint64_t, kDepth> ring_{};  // 0: none
    std::array<std::uint32_t, kDepth> keys_{};
    std::uint32_t head_ = kDepth;
  };
  static constexpr std::uint32_t kClassDepth = 32;
  static constexpr std::uint32_t kAnyDepth = 4;
  static constexpr std::uint8_t kFirstAnyCode = 2;                            // 2..5
  static constexpr std::uint8_t kFirstClassCode = kFirstAnyCode + kAnyDepth;  // of the second newest: 6..36
  static constexpr std::uint8_t kStepCode = kFirstClassCode + kClassDepth - 1;
  static_assert(kStepCode + 1 == kAllocOther);
  static constexpr std::size_t kClasses = 256;
  struct SizeClass {  // of one usable size
    std::uint64_t usable_bytes = 0;
    std::uint64_t last_address = 0;
    std::uint64_t step = 0;
    Freed<kClassDepth> freed;
  };
  struct Block {
    std::uint64_t address;
    ShapeId shape;
    std::uint32_t newer;  // neighbours in the list of live blocks, by age
    std::uint32_t older;
    std::uint8_t size_class;
    bool live;
  };
  SizeClass& class_of(std::uint64_t usable_bytes, std::size_t& slot);
  std::uint32_t live_or_none(std::uint32_t block) const {
    return block < block_count_ && blocks_[block].live ? block : kNoBlock;
  }

  std::unique_ptr<Block[]> blocks_;  // of the kMaxBlockEvents that an event block can have at most
  std::uint32_t block_count_ = 0;
  std::vector<SizeClass> classes_;
  std::vector<std::uint32_t> ages_;  // by context: allocations between birth and death, the last time
  Freed<kAnyDepth> any_;             // freed last, whatever its size
  std::uint32_t newest_live_ = kNoBlock;
  std::uint32_t last_freed_ = 0;
  std::uint32_t freed_step_ = 0;
  std::uint64_t last_alloc_ = 0;
  std::uint64_t last_alloc_end_ = 0;
  std::uint64_t last_foreign_ = 0;
};

}  // namespace tare::trace
