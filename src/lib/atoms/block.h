// The block of a dynamic atom: a SharedHeader with the atoms' own meaning, then the characters, a NUL, and zeros to 8.
//
// References: 0 for a freed block, 1 for an atom that only the table holds, 1 more for each holder. Blocks of a slab
// follow each other without gaps, freed ones too, so that a slab can be walked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>

#include "tare/atom.h"
#include "tare/internal/poison.h"

namespace tare::inline TARE_ABI {

class AtomBlock {
 public:
  static constexpr std::size_t kUnit = atom_details::kHandleUnitBytes;
  static constexpr std::size_t kLeastBytes = 2 * kUnit;

  static constexpr std::size_t bytes_for(std::size_t size_bytes) {
    return (sizeof(SharedHeader) + size_bytes + 1 + kUnit - 1) & ~(kUnit - 1);
  }
  static std::size_t bytes_of(const SharedHeader* block) { return bytes_for(block->size_bytes()); }

  static SharedHeader* at(std::uint32_t handle) {
    return reinterpret_cast<SharedHeader*>(atom_details::range_base + handle * kUnit);
  }
  static std::uint32_t handle_of(const void* block) {
    const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(block) - atom_details::range_base);
    return static_cast<std::uint32_t>(offset / kUnit);
  }

  // An atom with one holder besides the table.
  static void make(std::byte* memory, std::string_view text) {
    unpoison(memory, bytes_for(text.size()));
    const std::size_t bytes = bytes_for(text.size());
    auto* block = new (memory) SharedHeader(SharedOwner::Atom, static_cast<std::uint32_t>(text.size()), 2);
    std::memset(memory + bytes - kUnit, 0, kUnit);
    copy(block->writable_characters(), text);
  }

  // memcpy by a word or two where that does, without a call: 22 of the 430 instructions that making an atom took.
  static void copy(char* to, std::string_view text) {
    const std::size_t n = text.size();
    if (n > 16) {
      std::memcpy(to, text.data(), n);
    } else if (n >= 8) {
      copy_ends<8>(to, text);
    } else if (n >= 4) {
      copy_ends<4>(to, text);
    } else if (n >= 2) {
      copy_ends<2>(to, text);
    } else if (n == 1) {
      *to = text.front();
    }
  }

  // `bytes` of free space, at least kLeastBytes: walks treat it as a block, and it has a link to another.
  static void make_free(std::byte* memory, std::size_t bytes, std::uint32_t next) {
    unpoison(memory, kLeastBytes);
    new (memory) SharedHeader(SharedOwner::Heap, static_cast<std::uint32_t>(bytes - sizeof(SharedHeader) - 1), 0);
    std::memcpy(memory + sizeof(SharedHeader), &next, sizeof(next));
    poison(memory + sizeof(SharedHeader), bytes - sizeof(SharedHeader));
  }
  static std::uint32_t next_free(const SharedHeader* block) {
    unpoison(block->characters(), sizeof(std::uint32_t));
    std::uint32_t next = 0;
    std::memcpy(&next, block->characters(), sizeof(next));
    return next;
  }
  static bool is_free(const SharedHeader* block) { return block->references_.load(std::memory_order_relaxed) == 0; }

  static std::uint32_t references(const SharedHeader* block) {
    return block->references_.load(std::memory_order_acquire);  // orders the accesses of earlier owners before this
  }
  static bool is_unused(const SharedHeader* block) { return references(block) == 1; }

  // Takes a reference where there is no other thread.
  static void acquire_alone(SharedHeader* block) {
    const std::uint32_t references = block->references_.load(std::memory_order_relaxed);
    if (references < SharedHeader::kSaturated) block->references_.store(references + 1, std::memory_order_relaxed);
  }

  // The same where there are others. SharedHeader::acquire() reads the owner first, and thereby the line twice.
  static void acquire_shared(SharedHeader* block) {
    const std::uint32_t before = block->references_.fetch_add(1, std::memory_order_relaxed);
    if (before >= SharedHeader::kSaturated) [[unlikely]]
      block->references_.store(SharedHeader::kImmortal, std::memory_order_relaxed);
  }

  // Frees an unused atom, which no thread can find any more.
  static void kill(SharedHeader* block) { block->references_.store(0, std::memory_order_relaxed); }
  // A dead atom still has its text, which gives its place in the hash table; a free block has none.
  static bool is_dead_atom(const SharedHeader* block) { return is_free(block) && block->owner() != SharedOwner::Heap; }

  template <std::size_t kBytes>
  static void copy_ends(char* to, std::string_view text) {
    const std::size_t last = text.size() - kBytes;
    char first_word[kBytes];
    char last_word[kBytes];
    std::memcpy(first_word, text.data(), kBytes);
    std::memcpy(last_word, text.data() + last, kBytes);
    std::memcpy(to, first_word, kBytes);
    std::memcpy(to + last, last_word, kBytes);
  }

  static bool was_handed_out(const SharedHeader* block) { return block->owner() == SharedOwner::HandedOutAtom; }
  static void mark_handed_out(SharedHeader* block) {
    block->owner_and_size_.fetch_or(std::uint32_t{1} << 31, std::memory_order_relaxed);
  }
};

}  // namespace tare::inline TARE_ABI
