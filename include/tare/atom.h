// tare/atom.h: an atom is an interned string, named by 4 bytes. Equal texts of one table are one atom.
//
//   tare::AtomTable table;                               // see tare/atom_table.h
//   tare::Atom id = table.intern("main-header");
//   if (id == other) return;                             // one comparison of 32 bits
//   if (id == "main-header") return;                     // with text: characters are compared
//   std::string_view text = id.text();                   // the characters themselves, while an atom or a share lives
//
// The handle is the block's place in one range of addresses that the process reserves (32 GiB in units of 8 bytes); the
// block is the 8 bytes of tare/internal/shared_header.h and then the characters. So a holder pays 4 bytes where a
// pointer takes 8, and an atom 8 bytes beside its characters and its place in the table.
//
// Handing characters out. share() gives the counted block itself: it keeps the atom alive, copies nothing, and costs
// one increment however long the text is. Its holder releases it by SharedHeader::release(), or has
// release_characters() as the call-back of a string type of its own; `Bytes` does it by itself. Atom::of_characters()
// finds the way back without a look-up.
//
// Encoding. An atom is a string of bytes, UTF-8 by convention, followed by a NUL. Text that comes as UTF-16 is stored
// as UTF-8, so both give one atom. UTF-16's lone surrogates become the three bytes that UTF-8's scheme has for them
// (WTF-8), so that UTF-16 goes in and out unchanged. Bytes that aren't UTF-8 are kept as they are; when they are read
// as UTF-16, each maximal part of a broken sequence becomes U+FFFD. NULs are characters as others are.
//
// Ownership: an Atom counts. Copying increments, moving doesn't; an Atom that dies only decrements: the table frees
// unused atoms later, in bulk. Static atoms (tare/static_atoms.h) and null count nothing. Handles may be kept as plain
// numbers (handle(), from_handle()) where something else holds the atom.
//
// Threads: an Atom is as safe as a std::shared_ptr: any thread may copy and destroy its own; one object isn't shared
// without a lock. Comparing, hashing and reading need no lock.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string_view>
#include <utility>

#include "tare/internal/export.h"
#include "tare/internal/shared_header.h"
#include "tare/relocatable.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI {

inline constexpr std::uint32_t kMostStaticLists = 8;
inline constexpr std::uint32_t kMostStaticAtoms = 8191;  // a list

class Atom;

// A list of static atoms as tables see it; made by tare/static_atoms.h only. Lies in read-only memory.
struct StaticAtomList {
  const std::uint64_t* words;    // the blocks
  const std::uint32_t* offsets;  // where each begins, in words
  const std::uint32_t* slots;    // the hash table: index + 1 in the low 16 bits, 16 bits of the hash above; 0: empty
  std::uint32_t slot_mask;
  std::uint32_t count;
  std::uint32_t number;
  std::uint32_t size_bytes;  // of all of it

  static constexpr std::uint32_t slot_for(std::uint32_t hash, std::size_t index) {
    return (hash & 0xFFFF0000) | static_cast<std::uint32_t>(index + 1);
  }
  static constexpr std::size_t index_in(std::uint32_t slot) { return (slot & 0xFFFF) - 1; }
  static constexpr Atom atom(std::uint32_t number, std::size_t index);

  const SharedHeader* header(std::size_t index) const {
    return reinterpret_cast<const SharedHeader*>(words + offsets[index]);
  }
};

namespace atom_details {

// Handles below are static: list number times 8192, plus index, plus 1. The range begins with a guard of that length.
inline constexpr std::uint32_t kFirstDynamicHandle = kMostStaticLists * (kMostStaticAtoms + 1);
inline constexpr std::size_t kHandleUnitBytes = 8;

extern TARE_API TARE_STATE std::byte* range_base;  // constant from the first table on

// The block of a static atom; of an empty text if its list isn't registered.
TARE_API SharedHeader* static_header(std::uint32_t handle);

inline SharedHeader* header_of(std::uint32_t handle) {
  if (handle < kFirstDynamicHandle) return static_header(handle);
  return reinterpret_cast<SharedHeader*>(range_base + handle * kHandleUnitBytes);
}

TARE_API void mark_handed_out(SharedHeader* header);

}  // namespace atom_details

class TARE_API Atom {
 public:
  constexpr Atom() = default;  // null: no atom, not even the empty one
  constexpr Atom(const Atom& other) : handle_(other.handle_) { acquire(); }
  constexpr Atom(Atom&& other) noexcept : handle_(std::exchange(other.handle_, 0)) {}
  constexpr Atom& operator=(const Atom& other) {
    Atom copy(other);
    std::swap(handle_, copy.handle_);
    return *this;
  }
  constexpr Atom& operator=(Atom&& other) noexcept {
    Atom moved(std::move(other));
    std::swap(handle_, moved.handle_);
    return *this;
  }
  constexpr ~Atom() {
    if (is_counted()) header()->release();
  }

  constexpr explicit operator bool() const { return handle_ != 0; }
  // Atoms of different tables are different, also with equal texts; static atoms are the same in all tables.
  friend constexpr bool operator==(const Atom& a, const Atom& b) { return a.handle_ == b.handle_; }
  // By handle, which has nothing to do with the alphabet: for ordered containers.
  friend constexpr auto operator<=>(const Atom& a, const Atom& b) { return a.handle_ <=> b.handle_; }

  constexpr bool is_static() const { return handle_ != 0 && !is_counted(); }

  // The characters, valid while any Atom or share of it lives; empty for null. NUL-terminated.
  std::string_view text() const { return handle_ == 0 ? std::string_view{} : header()->text(); }
  const char* characters() const { return handle_ == 0 ? "" : header()->characters(); }
  std::size_t size_bytes() const { return handle_ == 0 ? 0 : header()->size_bytes(); }

  // The characters, as text() has them: for functions that take a std::string_view, and for range-for. Mind that they
  // end with the last Atom: a view of a temporary one may be gone with the next sweep.
  operator std::string_view() const { return text(); }  // NOLINT(google-explicit-constructor)
  const char* data() const { return characters(); }
  std::size_t size() const { return size_bytes(); }
  bool empty() const { return size_bytes() == 0; }
  const char* begin() const { return characters(); }
  const char* end() const { return characters() + size_bytes(); }

  // With text, character by character.
  friend bool operator==(const Atom& a, std::string_view b) { return a.text() == b; }
  friend bool operator==(const Atom& a, const char* b) { return a.text() == b; }
  friend bool operator==(const Atom& a, std::nullptr_t) = delete;  // use `if (!a)`

  // Takes one more reference to the block and hands it out; the caller gives it back by release(). Not for null.
  [[nodiscard]] SharedHeader* share() const {
    SharedHeader* block = header();
    block->acquire();
    if (block->owner() == SharedOwner::Atom) [[unlikely]]  // the first time only
      atom_details::mark_handed_out(block);
    return block;
  }

  // The atom of these characters (from share(), text() or characters()), which must belong to a dynamic atom with a
  // reference.
  static Atom of_characters(const void* characters) {
    SharedHeader* block = SharedHeader::before(characters);
    block->acquire();
    const auto offset = static_cast<std::size_t>(reinterpret_cast<std::byte*>(block) - atom_details::range_base);
    return adopt_handle(static_cast<std::uint32_t>(offset / atom_details::kHandleUnitBytes));
  }

  // The text as UTF-16 in native byte order: writes at most `capacity` units, no NUL, and returns how many the whole
  // text has. Two calls, the first with capacity 0, size a buffer.
  std::size_t copy_utf16(char16_t* out, std::size_t capacity) const;

  // 0 is null. Equal exactly for equal atoms; used again after an atom is freed.
  constexpr std::uint32_t handle() const { return handle_; }
  // A new reference to an atom that something else holds.
  static constexpr Atom from_handle(std::uint32_t handle) {
    Atom atom = adopt_handle(handle);
    atom.acquire();
    return atom;
  }
  // Takes over a reference, such as detach() gave up.
  static constexpr Atom adopt_handle(std::uint32_t handle) {
    Atom atom;
    atom.handle_ = handle;
    return atom;
  }
  [[nodiscard]] constexpr std::uint32_t detach() { return std::exchange(handle_, 0); }

  // Of the handle: two multiplications. All bits are good, also where only the lowest or the highest are used.
  template <class State>
  friend State AbslHashValue(State state, const Atom& atom) {
    return State::combine(std::move(state), atom.handle_);
  }
  constexpr std::size_t hash() const {
    constexpr std::uint64_t kOddWord = 0x9E3779B97F4A7C15;
    const std::uint64_t product = handle_ * kOddWord;
    const std::uint64_t mixed = (product ^ product >> 32) * kOddWord;
    return static_cast<std::size_t>(mixed ^ mixed >> 32);
  }

 private:
  constexpr bool is_counted() const { return handle_ >= atom_details::kFirstDynamicHandle; }
  SharedHeader* header() const { return atom_details::header_of(handle_); }
  constexpr void acquire() const {
    if (is_counted()) header()->acquire();
  }

  std::uint32_t handle_ = 0;
};

static_assert(sizeof(Atom) == 4);

constexpr Atom StaticAtomList::atom(std::uint32_t number, std::size_t index) {
  return Atom::adopt_handle(number * (kMostStaticAtoms + 1) + static_cast<std::uint32_t>(index) + 1);
}

// The text, padded as the stream's settings require. For <ostream>'s streams; a TextStream takes it as text.
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const Atom& atom) {
  return out << atom.text();
}

template <>
inline constexpr bool is_trivially_relocatable<Atom> = true;

}  // namespace tare::inline TARE_ABI

template <>
struct std::hash<tare::Atom> {
  constexpr std::size_t operator()(const tare::Atom& atom) const { return atom.hash(); }
};
