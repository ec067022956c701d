// tare/text_stream.h: text that is put together piece by piece, and usually short.
//
//   tare::TextStream out;                              // 64 bytes on the stack, 48 of them text; no heap yet
//   out << "node " << node.id << " at " << node.x;     // more than 48 characters move to the heap
//   log(out.view());
//
//   char line[80];
//   tare::FixedTextStream fixed(line);                 // the caller's memory; never allocates
//   fixed.print("%s: %d", name, count);
//   if (!fixed.ok()) cut_off();                        // at the end of a character; a zero is behind it
//
// All that writes and reads is in tare/internal/text_writer.h; here is where the text lies.
//
// Why 48: OpenJDK's stringStream malloced 256 characters at once, and 84 % of its streams wrote less than 32, 94 % less
// than 48 (java -version). With 32 characters inside, a test of metaspace still malloced for half of its streams, with
// 48 for 2 % (JDK-8260030 chose 48 by that table). Past that the fall is slight, and 48 and the fields are one cache
// line. For a program of other habits there is BasicTextStream<N>, and TARE_COUNT_TEXT_LENGTHS (tare/text_lengths.h)
// prints that table for your own.
//
// One thread at a time may use a stream. Nothing throws. Out of memory is a loss like any other: see ok() and loss().
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

#include "tare/bytes.h"
#include "tare/internal/text_writer.h"
#include "tare/text_lengths.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI {

// The use of heap memory in reset().
enum class HeapPart : std::uint8_t {
  Keep,  // for streams that are filled again and again
  Drop   // back to the characters inside
};

// A stream with kInline characters inside (a multiple of 8, at least 16). `Lengths` receives the length of every text
// at its stream's reset, take and end: TextLengthsIgnored costs nothing.
template <std::size_t kInline, typename Lengths = TextLengthsIgnored>
class BasicTextStream final : public TextWriter {
 public:
  static_assert(kInline % 8 == 0 && kInline >= sizeof(Elsewhere) && kInline <= 4096);
  static constexpr std::size_t kInlineCapacity = kInline;

  BasicTextStream() noexcept : TextWriter(inline_, kInline) {}
  ~BasicTextStream() {
    Lengths::note(size_);
    if (!is_inline()) [[unlikely]]
      free_heap();
  }

  // The text moves, with frozen state and losses; the other stream is as new. Views of short text end.
  BasicTextStream(BasicTextStream&& other) noexcept : TextWriter(inline_, kInline) { take_over(other); }
  BasicTextStream& operator=(BasicTextStream&& other) noexcept {
    if (this == &other) return *this;
    reset(HeapPart::Drop);
    take_over(other);
    return *this;
  }

  // Starts anew from any state: empty, open, nothing lost. Views end.
  void reset(HeapPart heap = HeapPart::Drop) noexcept {
    Lengths::note(size_);
    if (is_inline()) return reopen(kInline);
    if (heap == HeapPart::Keep) return reopen(elsewhere().capacity);
    free_heap();
    back_inside();
  }

  // Moves the text out and starts anew as reset() does. Text on the heap isn't copied: the block becomes the Bytes',
  // with its spare room. Text inside is copied into a block that fits. Null, with the stream unchanged, if there is no
  // memory. For a std::string, which owns no memory but its own, write std::string(stream.view()): a copy.
  [[nodiscard]] Bytes take() noexcept {
    Bytes taken = is_inline() ? Bytes::copy_of_text(view()) : Bytes::adopt_shared(finish_heap_block());
    if (taken.is_null()) return taken;
    Lengths::note(size_);
    back_inside();
    return taken;
  }

  bool is_on_heap() const noexcept { return !is_inline(); }
  // Bytes requested from malloc for the text: 0 while it lies inside.
  std::size_t heap_bytes() const noexcept { return TextWriter::heap_bytes(); }
  // For a Reporter: the bytes of malloc's block. `size_of` is a tare::SizeOf or any function of a block's address.
  template <typename SizeOf>
  std::size_t size_of_excluding_this(SizeOf&& size_of) const {
    return is_on_heap() ? size_of(heap_block()) : 0;
  }

 private:
  void back_inside() noexcept {
    data_ = inline_;
    reopen(kInline);
  }

  // This stream is inline and empty.
  void take_over(BasicTextStream& other) noexcept {
    std::memcpy(inline_, other.inline_, kInline);  // text, or where it lies
    if (!other.is_inline()) data_ = other.data_;
    size_ = other.size_;
    limit_ = other.limit_;
    other.back_inside();
  }

  alignas(8) char inline_[kInline];
};

#if defined(TARE_COUNT_TEXT_LENGTHS)
using TextStream = BasicTextStream<48, TextLengthsCounted>;
#else
using TextStream = BasicTextStream<48>;
static_assert(sizeof(TextStream) == 64);
#endif

// Text in memory of the caller's: `bytes` bytes at `buffer`, of which the last is kept for the terminating zero that
// c_str() writes (and the constructor: an unused buffer is an empty string). Text beyond the end is cut off and
// reported: ok() is false, loss() Truncated, lost_bytes() the number. The cut is between characters: of UTF-8 no
// beginning of a character stays at the end (of other encodings up to three bytes may go with it that look like one).
class FixedTextStream final : public TextWriter {
 public:
  FixedTextStream(char* buffer, std::size_t bytes) noexcept
      : TextWriter(bytes > 0 ? buffer : &nothing_, capacity_of(bytes)),
        elsewhere_{static_cast<std::uint32_t>(capacity_of(bytes)), false, 0} {
    *data_ = '\0';
  }
  template <std::size_t kBytes>
  explicit FixedTextStream(char (&buffer)[kBytes]) noexcept : FixedTextStream(buffer, kBytes) {}

  ~FixedTextStream() { data_[size_] = '\0'; }  // the buffer outlives the stream

  // Starts anew: empty, open, nothing lost.
  void reset() noexcept {
    elsewhere_.lost_bytes = 0;
    reopen(elsewhere_.capacity);
    *data_ = '\0';
  }

  // Bytes that were written and aren't there. size() + lost_bytes() + 1 is the buffer that would have done.
  std::size_t lost_bytes() const noexcept { return elsewhere_.lost_bytes; }

 private:
  static constexpr std::size_t capacity_of(std::size_t bytes) noexcept {
    return bytes == 0 ? 0 : bytes - 1 < kLargestSize ? bytes - 1 : kLargestSize;
  }

  Elsewhere elsewhere_;  // first: TextWriter looks for it directly behind itself
  char nothing_ = '\0';
};

}  // namespace tare::inline TARE_ABI
