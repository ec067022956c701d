// tare/internal/shared_header.h: the 8 bytes before characters that several holders share.
//
//   ... | u32 references | u32 owner and size | characters ... | NUL
//                                             ^ the pointer that is passed around
//
// `Bytes` and `Atom` have blocks of the same layout, so that a holder of characters needn't distinguish them: it counts
// up and down here, and the last release goes to the owner in two bits. So an atom's characters are handed out without
// a copy, the atom stays alive, and 3 characters cost as much as 400 (one increment).
//
//   owner     who made the block                 its last release
//   Heap      malloc; the block begins here      frees it
//   Atom      an AtomTable, for a dynamic atom   only counts; the table frees unused atoms later, many at a time
//   Static    the compiler; read-only            can't happen: its references are neither read nor written
//
// The characters lie at a multiple of 8 and are followed by a NUL that the size leaves out.
//
// Threads: the count is atomic. Taking a reference needs one already held (or the table's lock). Releases order earlier
// accesses to the characters before the block is freed or reused. While a process has one thread the count is plain
// arithmetic, as in std::shared_ptr.
//
// Overflow: from 2^31 references on a block is immortal: it is never freed, and nothing is counted wrong.
// Errors: none; nothing here allocates or throws.
//
// One block instead of a counted buffer beside the atom: Firefox, "Don't use nsStringBuffer for dynamic atoms" (2018),
// which gave up sharing for it; its buffers' header {references, size} is the shape of this one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tare/internal/export.h"
#include "tare/version.h"

// musl and glibc before 2.32 lack it; TARE_WITHOUT_SINGLE_THREADED is for trying that out.
#if __has_include(<sys/single_threaded.h>) && !defined(TARE_WITHOUT_SINGLE_THREADED)
#include <sys/single_threaded.h>
#define TARE_HAS_SINGLE_THREADED 1
#else
#define TARE_HAS_SINGLE_THREADED 0
#endif

namespace tare::inline TARE_ABI {

static_assert(sizeof(void*) == 8, "tare supports 64-bit targets only");

// The value is the two highest bits of the second word. For holders HandedOutAtom is Atom: the table writes it down
// for its breakdown into shared and unshared atoms.
enum class SharedOwner : std::uint32_t { Heap = 0, Atom = 1, Static = 2, HandedOutAtom = 3 };

namespace shared_details {

// A process without a second thread needs no locked instructions: 2 ns instead of 4.5 for an increment and a decrement.
inline bool is_single_threaded() {
#if TARE_HAS_SINGLE_THREADED
  return __libc_single_threaded != 0;
#else
  return false;
#endif
}

// Adds `change` (1, or -1 as unsigned) and returns the value before.
inline std::uint32_t exchange_add(std::atomic<std::uint32_t>& count, std::uint32_t change, std::memory_order order) {
  if (is_single_threaded()) {
    const std::uint32_t before = count.load(std::memory_order_relaxed);
    count.store(before + change, std::memory_order_relaxed);
    return before;
  }
  return count.fetch_add(change, order);
}

}  // namespace shared_details

class TARE_API SharedHeader {
 public:
  static constexpr std::uint32_t kLargestSize = (std::uint32_t{1} << 30) - 1;  // characters, in bytes: 1 GiB - 1
  static constexpr std::uint32_t kSaturated = std::uint32_t{1} << 31;          // counts from here on are immortal ones
  static constexpr std::uint32_t kImmortal = std::uint32_t{3} << 30;           // and are put back here

  constexpr SharedHeader(SharedOwner owner, std::uint32_t size_bytes, std::uint32_t references)
      : references_(references), owner_and_size_(word(owner, size_bytes)) {}
  SharedHeader(const SharedHeader&) = delete;
  SharedHeader& operator=(const SharedHeader&) = delete;

  // The second word, for blocks laid out at compile time. size_bytes <= kLargestSize.
  static constexpr std::uint32_t word(SharedOwner owner, std::uint32_t size_bytes) {
    return static_cast<std::uint32_t>(owner) << 30 | size_bytes;
  }

  // The header before `characters`, which must be the start of a shared block's characters.
  static SharedHeader* before(const void* characters) {
    return const_cast<SharedHeader*>(static_cast<const SharedHeader*>(characters) - 1);
  }

  const char* characters() const { return reinterpret_cast<const char*>(this + 1); }
  char* writable_characters() { return reinterpret_cast<char*>(this + 1); }  // only while nobody else holds the block
  std::uint32_t size_bytes() const { return second_word() & kLargestSize; }
  std::string_view text() const { return {characters(), size_bytes()}; }
  SharedOwner owner() const { return static_cast<SharedOwner>(second_word() >> 30); }

  // For an owner that fills a block: sets the size that it finds out afterwards. Only while the block has no other
  // holder.
  void set_size_bytes(std::uint32_t size_bytes) {
    owner_and_size_.store(word(owner(), size_bytes), std::memory_order_relaxed);
  }

  // The present count; another thread may change it at once. An atom's table holds one reference of its own.
  std::uint32_t references() const { return references_.load(std::memory_order_acquire); }

  // True if the caller, who holds one reference to a Heap block, is its only holder and may write.
  bool is_unique() const { return owner() == SharedOwner::Heap && references() == 1; }

  // Takes one more reference.
  void acquire() {
    if (owner() == SharedOwner::Static) return;
    const std::uint32_t before = shared_details::exchange_add(references_, 1, std::memory_order_relaxed);
    if (before >= kSaturated) [[unlikely]]
      references_.store(kImmortal, std::memory_order_relaxed);
  }

  // Gives one reference back; the block may be gone afterwards.
  void release() {
    const SharedOwner owner_before = owner();  // read first: after the release, another holder may free the block
    if (owner_before == SharedOwner::Static) return;
    // The count at which no holder is left: 1 for the heap, 2 for an atom, of which the table holds one itself.
    // Immortal counts are negative here, so that one comparison finds both.
    const std::int32_t last = 1 + static_cast<std::int32_t>(static_cast<std::uint32_t>(owner_before) & 1);
    const std::uint32_t before =
        shared_details::exchange_add(references_, ~std::uint32_t{0}, std::memory_order_acq_rel);
    if (static_cast<std::int32_t>(before) <= last) after_release(owner_before, before);
  }

 private:
  friend class AtomBlock;

  std::uint32_t second_word() const { return owner_and_size_.load(std::memory_order_relaxed); }

  // Frees a heap block, informs the table about an atom, restores an immortal count.
  void after_release(SharedOwner owner, std::uint32_t before);

  std::atomic<std::uint32_t> references_;
  std::atomic<std::uint32_t> owner_and_size_;
};

static_assert(sizeof(SharedHeader) == 8 && alignof(SharedHeader) == 4);

// The same for a foreign string type that is given a pointer and two functions to call, such as a script engine's
// external strings. `characters` is the result of SharedHeader::characters() (Atom::characters(), Bytes::data()).
TARE_API void acquire_characters(const void* characters);
TARE_API void release_characters(const void* characters);

}  // namespace tare::inline TARE_ABI
