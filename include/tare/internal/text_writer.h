// tare/internal/text_writer.h: the common part of all text streams of Tare: writing text at the end of one piece of
// memory.
//
// A function that writes text takes a TextWriter&, which hides the place of the text:
//
//   void describe(const Node& node, tare::TextWriter& out) {
//     out << "node " << node.id << " at " << node.x;         // as std::ostream, with neither locale nor flags
//     out.print("%-8s|%6.2f", node.name, node.weight);       // as printf
//     out.append_number(node.address, 16);                   // numbers by std::to_chars
//     fmt::format_to(std::back_inserter(out), "{}", node.id);   // or std::format_to
//   }
//
// The memory is a TextStream's (its own 48 bytes, then the heap) or a FixedTextStream's (a buffer of the caller's); see
// tare/text_stream.h. For code that needs a std::ostream there is tare/text_ostream.h.
//
// The written text is always a prefix of the whole: once a piece didn't fit, nothing more is taken until the stream is
// reset, so that a text never has holes. Every function that writes returns false if its text wasn't taken whole; ok()
// is false if any did, and loss() has the reason. Nothing throws.
//
// One thread at a time may use a writer. Sizes are bytes; text is bytes too, UTF-8 or any other, and may hold zeros.
// From OpenJDK's stringStream (JDK-8260030), whose modes these are; that truncates silently, and this reports it.
#pragma once

#include <concepts>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string_view>

#include "tare/internal/export.h"
#include "tare/internal/shared_header.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI {

// Why a text isn't all that was written.
enum class TextLoss : std::uint8_t {
  None,
  Truncated,         // a fixed buffer is full
  OutOfMemory,       // malloc failed; the text before is intact
  TooLarge,          // more than TextWriter::kLargestSize
  WrittenWhenFrozen  // text came after freeze()
};

// Types that operator<< writes as numbers. char and bool are text. 128-bit integers don't compile.
template <typename Number>
concept TextNumber = (std::integral<Number> && !std::same_as<Number, bool> && !std::same_as<Number, char> &&
                      sizeof(Number) <= sizeof(std::uint64_t)) ||
                     std::same_as<Number, float> || std::same_as<Number, double> || std::same_as<Number, long double>;

namespace text_details {

// Other types are converted, as long as the result isn't text. Were characters taken by conversion, an enumerator or a
// bit of a std::vector<bool> would be one.
template <typename Value>
concept Converted =
    (std::is_class_v<Value> || std::is_enum_v<Value>) && !std::convertible_to<const Value&, std::string_view>;
template <typename Value>
concept ConvertedToTruth = Converted<Value> && requires(const Value& value) { value.operator bool(); } &&
                           std::convertible_to<const Value&, bool>;  // not explicitly
template <typename Value>
concept ConvertedToCharacter = Converted<Value> && requires(const Value& value) { value.operator char(); } &&
                               std::convertible_to<const Value&, char>;
template <typename Value>
concept ConvertedToNumber = Converted<Value> && !ConvertedToTruth<Value> && !ConvertedToCharacter<Value> &&
                            requires(const Value& value) { requires TextNumber<decltype(+value)>; };

// Some of 16, 8 or 4 characters and the last as many, which overlap.
template <typename Chunk>
inline void copy_ends(char* to, const char* from, std::size_t size) noexcept {
  Chunk head;
  Chunk tail;
  std::memcpy(&head, from, sizeof(Chunk));
  std::memcpy(&tail, from + size - sizeof(Chunk), sizeof(Chunk));
  std::memcpy(to, &head, sizeof(Chunk));
  std::memcpy(to + size - sizeof(Chunk), &tail, sizeof(Chunk));
}

// memcpy without the call for pieces of up to 32 characters, which most are: a quarter of a short stream's time.
inline void copy(char* to, const char* from, std::size_t size) noexcept {
  struct Sixteen {
    std::uint64_t halves[2];
  };
  if (__builtin_constant_p(size)) {
    if (size != 0) std::memcpy(to, from, size);
  } else if (size > 16) {
    if (size > 32) {
      std::memcpy(to, from, size);
    } else {
      copy_ends<Sixteen>(to, from, size);
    }
  } else if (size >= 8) {
    copy_ends<std::uint64_t>(to, from, size);
  } else if (size >= 4) {
    copy_ends<std::uint32_t>(to, from, size);
  } else if (size != 0) {
    const char middle = from[size / 2];
    const char last = from[size - 1];
    to[0] = from[0];
    to[size / 2] = middle;
    to[size - 1] = last;
  }
}

}  // namespace text_details

class TARE_API TextWriter {
 public:
  using value_type = char;                                                 // for std::back_inserter
  static constexpr std::size_t kLargestSize = SharedHeader::kLargestSize;  // 1 GiB - 1

  TextWriter(const TextWriter&) = delete;
  TextWriter& operator=(const TextWriter&) = delete;

  // Writes `text`, which may be a part of this very stream's. False if not all of it fits.
  bool append(std::string_view text) noexcept {
    if (!fits(text.size())) [[unlikely]]
      return append_slowly(text.data(), text.size());
    text_details::copy(data_ + size_, text.data(), text.size());
    size_ += static_cast<std::uint32_t>(text.size());
    return true;
  }

  // Writes one character.
  bool append(std::same_as<char> auto character) noexcept {
    if (!fits(1)) [[unlikely]]
      return append_slowly(&character, 1);
    data_[size_++] = character;
    return true;
  }
  void push_back(char character) noexcept { append(character); }

  // Writes `count` times `character`.
  bool append(std::size_t count, char character) noexcept;

  // Writes a number: integers in `base` 2 to 36 (lower case), floating-point numbers as short as they can be read back.
  // Neither depends on the locale.
  bool append_number(std::signed_integral auto number, int base = 10) noexcept
    requires(sizeof number <= sizeof(std::int64_t))
  {
    return append_signed(number, base);
  }
  bool append_number(std::unsigned_integral auto number, int base = 10) noexcept
    requires(sizeof number <= sizeof(std::uint64_t))
  {
    return append_unsigned(number, base);
  }
  bool append_number(double number) noexcept;
  bool append_number(float number) noexcept;  // shorter than as a double: 0.1f is 0.1
  bool append_number(long double number) noexcept;
  // With `digits` digits after the point (1074 at most: there are no further ones), as "%.*f" in the C locale.
  bool append_fixed(double number, int digits) noexcept;

  // Writes as printf does. Arguments must not point to this stream's own text. False also if `format` is in error.
  bool print(const char* format, ...) noexcept __attribute__((format(printf, 2, 3)));
  // The same for functions that have arguments of their own; `arguments` is left as va_list functions leave it: only
  // va_end() may follow.
  bool vprint(const char* format, std::va_list arguments) noexcept __attribute__((format(printf, 2, 0)));

  TextWriter& operator<<(std::string_view text) noexcept {
    append(text);
    return *this;
  }
  TextWriter& operator<<(const char* text) noexcept { return *this << std::string_view(text); }
  TextWriter& operator<<(std::same_as<char> auto character) noexcept {
    append(character);
    return *this;
  }
  TextWriter& operator<<(std::same_as<bool> auto truth) noexcept { return *this << (truth ? "true" : "false"); }
  TextWriter& operator<<(TextNumber auto number) noexcept {
    append_number(number);
    return *this;
  }
  // Unscoped enumerators are numbers; std::atomic, std::true_type, std::vector<bool>'s elements and similar types are
  // written as their values.
  TextWriter& operator<<(const text_details::ConvertedToNumber auto& value) noexcept { return *this << +value; }
  TextWriter& operator<<(const text_details::ConvertedToTruth auto& value) noexcept {
    return *this << static_cast<bool>(value);
  }
  TextWriter& operator<<(const text_details::ConvertedToCharacter auto& value) noexcept {
    return *this << static_cast<char>(value);
  }

  // Makes room for `more` characters, so that writing them can't fail. False if there is no memory, which alone is no
  // loss: only writing is.
  bool reserve(std::size_t more) noexcept;

  // For direct writes: prepare(n) returns room for n characters behind the text, or null as reserve() fails; commit(m),
  // m <= n, makes the first m of them text. Any other call between the two loses them.
  char* prepare(std::size_t count) noexcept { return reserve(count) ? data_ + size_ : nullptr; }
  void commit(std::size_t count) noexcept { size_ += static_cast<std::uint32_t>(count); }

  // Removes the text after the first `size` characters (<= size()): a last comma, a failed attempt. Frozen text stays.
  // Lost text stays lost.
  void shorten(std::size_t size) noexcept {
    if (!is_frozen() && size < size_) size_ = static_cast<std::uint32_t>(size);
  }

  // The text so far. Valid until the next write, reset, take or move; after freeze() until one of the latter three.
  std::string_view view() const noexcept { return {data_, size_}; }
  const char* data() const noexcept { return data_; }  // without a terminating zero
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }

  // The text with a terminating zero; valid as view() is. A text that fills a stream's inline memory to the last byte
  // moves to the heap for it; without memory for that the last character is dropped, and loss() reports it.
  const char* c_str() noexcept;

  // Ends the writing: from here on view() keeps. Writing afterwards is a bug in the program; it's ignored and loss()
  // reports it, because the text may not move any more.
  void freeze() noexcept;
  bool is_frozen() const noexcept { return (reasons() & kFrozen) != 0; }

  // Whether all that was written is there.
  bool ok() const noexcept { return loss() == TextLoss::None; }
  TextLoss loss() const noexcept;

 protected:
  // Lies behind the fields here, in place of inline memory, while the text lies elsewhere.
  struct Elsewhere {
    std::uint32_t capacity;
    bool is_heap;
    std::size_t lost_bytes;  // bytes for which a fixed buffer had no room
  };

  TextWriter(char* data, std::size_t capacity) noexcept : data_(data), limit_(static_cast<std::int32_t>(capacity)) {}
  ~TextWriter() = default;

  // Memory of the derived class, directly behind this one's: where short text or an Elsewhere lies.
  char* own_memory() noexcept { return reinterpret_cast<char*>(this + 1); }
  const char* own_memory() const noexcept { return reinterpret_cast<const char*>(this + 1); }
  Elsewhere& elsewhere() noexcept { return *reinterpret_cast<Elsewhere*>(own_memory()); }
  const Elsewhere& elsewhere() const noexcept { return *reinterpret_cast<const Elsewhere*>(own_memory()); }
  bool is_inline() const noexcept { return data_ == own_memory(); }
  bool is_on_heap() const noexcept { return !is_inline() && elsewhere().is_heap; }

  // Clears text and reasons; keeps the memory, of which `capacity` bytes may be written.
  void reopen(std::size_t capacity) noexcept {
    size_ = 0;
    limit_ = static_cast<std::int32_t>(capacity);
  }

  void free_heap() noexcept;                // the text must be on the heap
  std::size_t heap_bytes() const noexcept;  // requested from malloc
  const void* heap_block() const noexcept { return data_ - sizeof(SharedHeader); }
  SharedHeader* finish_heap_block() noexcept;  // terminated, with one reference; it's the caller's from here on

  char* data_;
  std::uint32_t size_ = 0;
  // Up to which size text may grow without a call of grow(); negative once nothing more may be written: reasons then,
  // as bits. One comparison checks both.
  std::int32_t limit_;

 private:
  static constexpr unsigned kFrozen = 16;  // the bits below hold a TextLoss

  bool fits(std::size_t count) const noexcept {
    return static_cast<std::int64_t>(count) <= std::int64_t{limit_} - std::int64_t{size_};
  }
  unsigned reasons() const noexcept { return limit_ >= 0 ? 0 : static_cast<unsigned>(-limit_); }
  bool is_fixed() const noexcept { return !is_inline() && !elsewhere().is_heap; }
  std::size_t spare() const noexcept;  // characters that fit without growing

  bool print_by_c(const char* format, std::va_list arguments) noexcept __attribute__((format(printf, 2, 0)));
  template <std::size_t kMost, typename Write, typename... Arguments>
  bool append_decimal(const Write& write, Arguments... arguments) noexcept;
  bool append_slowly(const char* text, std::size_t size) noexcept;
  bool append_signed(std::int64_t number, int base) noexcept;
  bool append_unsigned(std::uint64_t number, int base) noexcept;
  template <std::size_t kMost, typename... Arguments>
  bool append_chars(Arguments... arguments) noexcept;

  TextLoss grow(std::size_t more) noexcept;
  bool lose(TextLoss loss, std::size_t lost_bytes) noexcept;
  void drop_cut_character() noexcept;
};

}  // namespace tare::inline TARE_ABI
