// The predictions of the next event, which encoder and decoder of event blocks share. Any change here changes the
// format: see FORMAT.md.
//
// Programs repeat themselves: the same few allocations follow each other, malloc returns the block that was freed last,
// and most freed blocks are young. Each guess that holds costs a byte that zstd then packs to a tenth.
#pragma once

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "trace/base/mix_hash.h"
#include "trace/model/event.h"
#include "trace/model/freed_blocks.h"
#include "trace/model/living_blocks.h"

namespace tare::trace {

inline constexpr std::uint32_t kMaxBlockEvents = LivingBlocks::kMost;

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
  // The first guess that is `symbol`, or kGuesses. Without branches, because the right guess is unpredictable.
  int find(Symbol symbol) const {
    static_assert(kWays == 4);
#if defined(__SSE2__)
    const __m128i ways = _mm_load_si128(reinterpret_cast<const __m128i*>(fast_));
    const __m128i equal = _mm_cmpeq_epi32(ways, _mm_set1_epi32(static_cast<int>(symbol)));
    const int which = _mm_movemask_ps(_mm_castsi128_ps(equal)) << 1 | static_cast<int>(*slow_ == symbol);
#else
    int which = static_cast<int>(*slow_ == symbol);
    for (int way = 0; way < kWays; ++way) which |= static_cast<int>(fast_[way] == symbol) << (way + 1);
#endif
    return std::countr_zero(static_cast<unsigned>(which | 1 << kGuesses));
  }
  // Moves the symbol to the front of the four, from its place or by removing the last. In one store, as find() loads
  // them at once: four stores that a load takes together make it wait for all of them.
  void move_to_front(Symbol symbol) {
    static_assert(kWays == 4);
    *slow_ = symbol;
#if defined(__SSE2__)
    __m128i* const place = reinterpret_cast<__m128i*>(fast_);
    const __m128i ways = _mm_load_si128(place);
    const __m128i newest = _mm_cvtsi32_si128(static_cast<int>(symbol));
    // Those behind its place stay, the others move back by one. No branches: each was wrong at every sixth event of
    // git.
    const __m128i equal = _mm_cmpeq_epi32(ways, _mm_shuffle_epi32(newest, 0));
    const __m128i once = _mm_slli_si128(equal, 4);
    const __m128i stay = _mm_or_si128(_mm_or_si128(once, _mm_slli_si128(equal, 8)), _mm_slli_si128(equal, 12));
    const __m128i moved = _mm_or_si128(_mm_slli_si128(ways, 4), newest);
    _mm_store_si128(place, _mm_or_si128(_mm_and_si128(stay, ways), _mm_andnot_si128(stay, moved)));
#else
    Symbol newest = symbol;  // of those that move
    Symbol stay = 0;         // all bits set from its place on
    for (int way = 0; way < kWays; ++way) {
      const Symbol old = fast_[way];
      fast_[way] = (old & stay) | (newest & ~stay);
      stay |= old == symbol ? ~Symbol{0} : 0;
      newest = old;
    }
#endif
  }
  // `token` represents an event in the history: the symbol, or for a free the kind of the ended block.
  void remember(std::uint32_t token) {
    history_ = history_ << 20 ^ (token * 0x9e3779b1u >> 12);  // 3 tokens of 20 bits
    context_ = mix_hash(history_ & 0xfffffffffffffffull, 1) >> 40 & (kByThree - 1);
    slow_ = &by_three_[context_];
    fast_ = &by_one_[(history_ & 0xfffff) % kByOne * kWays];
  }
  // Of the last three tokens; frees are predicted from it too.
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
  // Codes after the guesses, by number.
  static constexpr std::uint8_t kAllocNewest = 0;  // where the newest freed block of the size lay
  static constexpr std::uint8_t kAllocCut = 1;     // behind the last that was cut off a free piece
  static constexpr std::uint8_t kAllocStep = 2;    // as far from the last of the size as that from the one before
  static constexpr std::uint8_t kAllocAgain = 3;   // where a block lay that was allocated so many allocations ago
  static constexpr std::uint8_t kAllocOther = 4;
  static constexpr std::uint8_t kFreeOther = 8;  // codes below are guesses
  static constexpr std::uint32_t kNoBlock = LivingBlocks::kNone;

  AddressModel();
  void reset();

  // The base of an address that no guess predicted.
  std::uint64_t alloc_base() const { return last_alloc_; }
  std::uint64_t foreign_base() const { return last_foreign_; }

  // A block begins at `address`, where `before` lay last of this event block's, or kNoBlock: gives the code.
  std::uint8_t allocated(std::uint64_t usable_bytes, std::uint64_t address, std::uint32_t before, ShapeId shape) {
    SizeClass& size_class = class_of(usable_bytes);
    const std::uint8_t code = find_alloc(size_class, address, before);
    begin(size_class, usable_bytes, address, before, shape, code);
    return code;
  }
  // The same where the code is known: gives the address. `before` for kAllocAgain, `other` for kAllocOther.
  std::uint64_t allocated_by(std::uint64_t usable_bytes, std::uint8_t code, std::uint32_t before, std::uint64_t other,
                             ShapeId shape) {
    SizeClass& size_class = class_of(usable_bytes);
    const std::uint64_t address = guess_alloc(size_class, code, before, other);
    begin(size_class, usable_bytes, address, before, shape, code);
    return address;
  }

  // Blocks by number. `context` is SymbolModel's. The first guess that is the living block `block`, and the block that
  // a guess means: kNoBlock where there's nothing to guess.
  std::uint8_t find_free(std::uint32_t block, std::size_t context) const {
    if (block_count_ - ages_[context] == block) return 0;
    if (last_freed_ + freed_step_ == block) return 1;
    return static_cast<std::uint8_t>(2 + living_.count_above(block, block_count_, kFreeOther - 2));
  }
  std::uint32_t guess_free(std::uint8_t code, std::size_t context) const;

  void freed(std::uint32_t block, std::size_t context) {
    living_.remove(block);
    ages_[context] = block_count_ - block;
    freed_step_ = block - last_freed_;
    last_freed_ = block;
    classes_[blocks_[block].size_class].freed.push(block);
  }
  // Freed, but allocated before this event block or by another thread.
  void freed_foreign(std::uint64_t address) { last_foreign_ = address; }

  std::uint32_t block_count() const { return block_count_; }
  std::uint64_t address_of(std::uint32_t block) const { return blocks_[block].address; }
  ShapeId shape_of(std::uint32_t block) const { return blocks_[block].shape; }
  bool live(std::uint32_t block) const { return living_.has(block); }

 private:
  static constexpr std::uint64_t kGlibcHeaderBytes = 8;  // between neighbours cut off the top of a glibc heap
  static constexpr std::size_t kClasses = 256;
  struct SizeClass {  // of one usable size
    std::uint64_t usable_bytes = 0;
    std::uint64_t last_address = 0;
    std::uint64_t step = 0;
    FreedBlocks freed;
  };
  struct Block {
    std::uint64_t address;
    ShapeId shape;
    std::uint16_t size_class;
    bool is_reused;  // by kAllocAgain: not where its size's next will be
  };

  SizeClass& class_of(std::uint64_t usable_bytes) {
    SizeClass& size_class = classes_[mix_hash(usable_bytes, 2) >> 33 & (kClasses - 1)];
    if (size_class.usable_bytes != usable_bytes) [[unlikely]] {
      size_class.usable_bytes = usable_bytes;
      size_class.last_address = size_class.step = 0;
      size_class.freed.clear();
    }
    return size_class;
  }

  std::uint8_t find_alloc(const SizeClass& size_class, std::uint64_t address, std::uint32_t before) const {
    if (before != kNoBlock && size_class.freed.newest() == before) return kAllocNewest;
    if (last_cut_end_ == address) return kAllocCut;
    if (size_class.last_address + size_class.step == address) return kAllocStep;
    return before != kNoBlock ? kAllocAgain : kAllocOther;
  }
  std::uint64_t guess_alloc(const SizeClass& size_class, std::uint8_t code, std::uint32_t before,
                            std::uint64_t other) const;

  void begin(SizeClass& size_class, std::uint64_t usable_bytes, std::uint64_t address, std::uint32_t before,
             ShapeId shape, std::uint8_t code) {
    if (code == kAllocNewest) {
      size_class.freed.drop_newest();
      drop_reused(size_class);
    } else if (code == kAllocAgain) {
      Block& dead = blocks_[before];
      dead.is_reused = true;
      drop_reused(classes_[dead.size_class]);
    } else {
      last_cut_end_ = address + usable_bytes + kGlibcHeaderBytes;
    }
    size_class.step = address - size_class.last_address;
    size_class.last_address = address;
    last_alloc_ = address;
    living_.add(block_count_);
    blocks_[block_count_++] = {address, shape, static_cast<std::uint16_t>(&size_class - classes_.data()), false};
  }
  void drop_reused(SizeClass& size_class) {
    for (;;) {
      const std::uint32_t newest = size_class.freed.newest();
      if (newest == kNoBlock || !blocks_[newest].is_reused) return;
      size_class.freed.drop_newest();
    }
  }
  std::uint32_t live_or_none(std::uint32_t block) const {
    return block < block_count_ && living_.has(block) ? block : kNoBlock;
  }

  std::unique_ptr<Block[]> blocks_;  // of the kMaxBlockEvents that an event block can have at most
  LivingBlocks living_;
  std::uint32_t block_count_ = 0;
  std::vector<SizeClass> classes_;
  std::vector<std::uint32_t> ages_;  // by context: allocations between birth and death, the last time
  std::uint32_t last_freed_ = 0;
  std::uint32_t freed_step_ = 0;
  std::uint64_t last_alloc_ = 0;
  std::uint64_t last_cut_end_ = 0;
  std::uint64_t last_foreign_ = 0;
};

}  // namespace tare::trace
