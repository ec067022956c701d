// tare/bytes.h: immutable bytes, shared by count instead of copied, and sliced.
//
//   tare::Bytes page = tare::Bytes::copy(data, size);       // one malloc: count and bytes together
//   tare::Bytes title = page.slice(offset, length);         // no copy; keeps the page alive
//   tare::Bytes text = stream.take();                       // a TextStream's heap block as it is
//   tare::Bytes name = tare::Bytes::adopt_shared(atom.share()); // an atom's characters; the atom stays alive
//   tare::Bytes file = tare::Bytes::adopt(map, size, &unmap, context);   // foreign memory with its own way to go
//
//   tare::UniqueBytes fresh = tare::UniqueBytes::allocate(4096);         // filled first, shared afterwards
//   read(fd, fresh.data(), fresh.capacity());
//   tare::Bytes message = std::move(fresh).share(received);
//
// Where the bytes lie. Up to some 256 bytes in one block with their count, for two blocks cost 1.6 to 2.5 times as much
// there (GBytes: 40 bytes and a block of its own). Above, the count lies apart if that is cheaper with the allocator in
// use: a power of two and a header takes 1.25 times the power of two on jemalloc and similar ones, and an additional
// small block doesn't. Callers that can choose the size use UniqueBytes::capacity(): the size that fits without slop.
//
// Alignment of the first byte: 16, as malloc's, or 8 if the size is below 16. copy_of_text() gives 8 always, for 8
// bytes less; adopted and shared bytes stay in place; slices begin anywhere.
//
// Threads: different Bytes that share memory may be used, copied and destroyed by different threads; one Bytes by one
// at a time, or by many that only read. A count is atomic once the process has threads. Nothing throws: out of memory
// is a null Bytes.
//
// Were they worth it? With TARE_REPORT_SHARING=1 in the environment, a recorded program reports the blocks that ever
// had two owners: `tare report --lens unshared`.
//
// After GLib's GBytes and the one-block GBytes of "a faster GVariantBuilder" (2025); the count is a SharedHeader, so
// that atoms, texts and bytes have one interface for their holders.
#pragma once

#include <cassert>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <span>
#include <string_view>
#include <utility>

#include "tare/internal/export.h"
#include "tare/internal/shared_header.h"
#include "tare/relocatable.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI {

namespace bytes_details {
// Null unless a recorder listens and TARE_REPORT_SHARING=1 is set in the environment.
using ReportSharing = void (*)(const void* block, bool are_several);
TARE_API extern ReportSharing report_sharing;
}  // namespace bytes_details

class TARE_API Bytes {
 public:
  // Called once, by the thread that gives the last reference back.
  using Release = void (*)(const void* data, std::size_t size_bytes, void* context);

  // Null: no bytes, no memory.
  constexpr Bytes() noexcept = default;

  // A copy. Null when malloc fails. No malloc for 0 bytes, which aren't null.
  static Bytes copy(const void* data, std::size_t size_bytes) noexcept;
  static Bytes copy(std::span<const std::byte> bytes) noexcept { return copy(bytes.data(), bytes.size()); }

  // A copy with a terminating zero behind, which the size leaves out, aligned to 8. See shared_header().
  static Bytes copy_of_text(std::string_view text) noexcept;

  // Bytes that live for ever, such as a literal's: nothing is counted.
  static Bytes of_static(std::string_view text) noexcept {
    return Bytes(text.data() == nullptr ? "" : text.data(), text.size(), 0);
  }

  // Memory with another owner: `release` is called after the last reference. Null when there's no memory for the count
  // (40 bytes); then `release` isn't called and the memory is still the caller's.
  static Bytes adopt(const void* data, std::size_t size_bytes, Release release, void* context) noexcept;
  // A block from malloc, to be freed.
  static Bytes adopt_malloced(void* block, std::size_t size_bytes) noexcept;

  // The characters of a shared block (an Atom's, for instance): share() takes a reference, adopt_shared() the caller's.
  static Bytes share(SharedHeader* header) noexcept {
    header->acquire();
    return adopt_shared(header);
  }
  static Bytes adopt_shared(SharedHeader* header) noexcept {
    return Bytes(header->characters(), header->size_bytes(), reinterpret_cast<std::uintptr_t>(header));
  }

  Bytes(const Bytes& other) noexcept : data_(other.data_), size_(other.size_), holder_(other.holder_) { acquire(); }
  Bytes(Bytes&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        holder_(std::exchange(other.holder_, 0)) {}
  Bytes& operator=(Bytes other) noexcept {
    swap(other);
    return *this;
  }
  ~Bytes() { release(); }

  void swap(Bytes& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(holder_, other.holder_);
  }

  // Valid while this or another Bytes holds the memory. data() is null for a null Bytes only.
  const char* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  bool is_null() const noexcept { return data_ == nullptr; }
  std::string_view text() const noexcept { return {data_, size_}; }
  operator std::string_view() const noexcept { return text(); }  // NOLINT(google-explicit-constructor)
  const char* begin() const noexcept { return data_; }
  const char* end() const noexcept { return data_ + size_; }
  char operator[](std::size_t index) const noexcept {
    assert(index < size_);
    return data_[index];
  }
  std::span<const std::byte> span() const noexcept { return {reinterpret_cast<const std::byte*>(data_), size_}; }

  // A part, which holds the whole. A part, which holds the whole. Offset and count may be too large: they are cut. An
  // empty part of anything but null isn't null and holds nothing.
  Bytes slice(std::size_t offset, std::size_t count = SIZE_MAX) const noexcept;

  // True if there may be another holder. False: this holder may count the memory as its own. Static bytes and atoms are
  // shared always (with the program, with the table). Another thread may take a reference at once, unless it would take
  // it from this very Bytes.
  bool is_shared() const noexcept;

  // The block's memory for writing, all of this Bytes, if it lies on the heap and has no other holder; else null.
  char* data_if_unique() noexcept;

  // The header of the characters at data(), for passing them on as a bare pointer (acquire_characters). Null if there
  // is none directly before: a slice, adopted memory, bytes aligned to 16.
  SharedHeader* shared_header() const noexcept;

  // For a Reporter: the bytes of the blocks, shared or not; slices hold all of their block. `size_of` is a tare::SizeOf
  // or any function of a block's address. Memory that was adopted with a release of its own counts only its holder.
  template <typename SizeOf>
  std::size_t size_of_excluding_this(SizeOf&& size_of) const {
    const Blocks held = blocks();
    return (held.first != nullptr ? size_of(held.first) : 0) + (held.second != nullptr ? size_of(held.second) : 0);
  }
  // The same, and 0 if it is_shared(): sharing owners must agree on the one that reports.
  template <typename SizeOf>
  std::size_t size_of_excluding_this_if_unshared(SizeOf&& size_of) const {
    return is_shared() ? 0 : size_of_excluding_this(size_of);
  }

  friend bool operator==(const Bytes& a, const Bytes& b) noexcept { return a.text() == b.text(); }  // null is empty
  friend auto operator<=>(const Bytes& a, const Bytes& b) noexcept { return a.text() <=> b.text(); }
  friend bool operator==(const Bytes& a, std::string_view b) noexcept { return a.text() == b; }
  friend bool operator==(const Bytes& a, const char* b) noexcept { return a.text() == b; }
  friend bool operator==(const Bytes& a, std::nullptr_t) = delete;  // use is_null()
  friend auto operator<=>(const Bytes& a, std::string_view b) noexcept { return a.text() <=> b; }
  friend auto operator<=>(const Bytes& a, const char* b) noexcept { return a.text() <=> std::string_view(b); }
  template <class State>
  friend State AbslHashValue(State state, const Bytes& bytes) {
    return State::combine(std::move(state), bytes.text());
  }

 private:
  friend class UniqueBytes;
  struct Apart;  // count of memory that has no header: where holder_ is odd
  struct Blocks {
    const void* first = nullptr;
    const void* second = nullptr;
  };

  static constexpr std::uintptr_t kApart = 1;

  Bytes(const char* data, std::size_t size, std::uintptr_t holder) noexcept
      : data_(data), size_(size), holder_(holder) {}
  static std::uintptr_t make_apart(const void* data, std::size_t size, Release release, void* context) noexcept;

  bool is_apart() const noexcept { return (holder_ & kApart) != 0; }
  SharedHeader* header() const noexcept { return reinterpret_cast<SharedHeader*>(holder_); }
  Apart* apart() const noexcept { return reinterpret_cast<Apart*>(holder_ - kApart); }
  Blocks blocks() const noexcept;
  // The block of malloc that contains them; null if it isn't theirs to report.
  const void* block_of_bytes() const noexcept;

  void acquire() const noexcept {
    if (holder_ == 0) return;
    if (is_apart()) return acquire_apart();
    header()->acquire();
    if (bytes_details::report_sharing != nullptr) [[unlikely]]
      report_second_owner();
  }
  void release() const noexcept {
    if (holder_ == 0) return;
    if (is_apart()) return release_apart();
    header()->release();
  }
  void acquire_apart() const noexcept;
  void report_second_owner() const noexcept;
  void release_apart() const noexcept;

  const char* data_ = nullptr;
  std::size_t size_ = 0;
  std::uintptr_t holder_ = 0;  // a SharedHeader, or an Apart and 1, or 0 where nothing is counted
};

// Memory for bytes to be shared that is still its maker's alone, and may be written. Movable. One thread at a time.
class TARE_API UniqueBytes {
 public:
  constexpr UniqueBytes() noexcept = default;

  // Room for `least_bytes` at least, not initialized. Null when malloc fails.
  static UniqueBytes allocate(std::size_t least_bytes) noexcept;

  UniqueBytes(UniqueBytes&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        capacity_(std::exchange(other.capacity_, 0)),
        holder_(std::exchange(other.holder_, 0)) {}
  UniqueBytes& operator=(UniqueBytes&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(capacity_, other.capacity_);
    std::swap(holder_, other.holder_);
    return *this;
  }
  ~UniqueBytes() { const Bytes last(data_, 0, holder_); }

  char* data() const noexcept { return data_; }
  // The allocator's whole class, less the header. At least the requested size.
  std::size_t capacity() const noexcept { return capacity_; }
  bool is_null() const noexcept { return data_ == nullptr; }

  // The first `size_bytes` <= capacity() as Bytes, from here on unchanged. This one is null afterwards.
  [[nodiscard]] Bytes share(std::size_t size_bytes) && noexcept;

 private:
  char* data_ = nullptr;
  std::size_t capacity_ = 0;
  std::uintptr_t holder_ = 0;
};

// As text, padded as the stream's settings require. For <ostream>'s streams; a TextStream takes them as text.
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const Bytes& bytes) {
  return out << bytes.text();
}

template <>
inline constexpr bool is_trivially_relocatable<Bytes> = true;

}  // namespace tare::inline TARE_ABI

// Of the bytes: equal bytes have equal hashes.
template <>
struct std::hash<tare::Bytes> {
  std::size_t operator()(const tare::Bytes& bytes) const noexcept {
    return std::hash<std::string_view>()(bytes.text());
  }
};
