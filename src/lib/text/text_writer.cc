// Growth, loss and formatting of text writers: all that isn't a copy into memory that is there.
#include "tare/internal/text_writer.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <functional>
#include <new>
#include <system_error>

#include "lib/text/decimals.h"
#include "tare/bytes.h"
#include "tare/good_size.h"
#include "tare/internal/shared_header.h"

namespace tare::inline TARE_ABI {
namespace {

// A heap block begins with a SharedHeader, so that it can be handed out as Bytes as it is, and ends with room for a
// terminating zero.
constexpr std::size_t kAroundText = sizeof(SharedHeader) + 1;

char* block_of(char* text) noexcept { return text - sizeof(SharedHeader); }

}  // namespace

std::size_t TextWriter::spare() const noexcept { return limit_ < 0 ? 0 : static_cast<std::size_t>(limit_) - size_; }

bool TextWriter::reserve(std::size_t more) noexcept {
  if (fits(more) && more <= kLargestSize) return true;
  if (limit_ < 0 || is_fixed()) return false;
  return grow(more) == TextLoss::None;
}

// Moves open text to a larger heap block. At least twice the present size: fewer than two bytes are copied for each
// written one.
TextLoss TextWriter::grow(std::size_t more) noexcept {
  if (more > kLargestSize - size_) return TextLoss::TooLarge;
  const std::size_t needed = size_ + more;
  const std::size_t wanted = std::max(needed, 2 * static_cast<std::size_t>(limit_));
  const std::size_t capacity = std::min(capacity_for(wanted + 1, sizeof(SharedHeader)) - 1, kLargestSize);
  const bool was_inline = is_inline();
  for (const std::size_t attempt : {capacity, needed}) {  // if doubling fails, the needed size may still succeed
    void* old = was_inline ? nullptr : block_of(data_);
    void* block = std::realloc(old, attempt + kAroundText);
    if (block == nullptr) continue;
    char* text = static_cast<char*>(block) + sizeof(SharedHeader);
    if (was_inline) std::memcpy(text, data_, size_);
    data_ = text;
    limit_ = static_cast<std::int32_t>(attempt);
    new (own_memory()) Elsewhere{static_cast<std::uint32_t>(attempt), true, 0};
    return TextLoss::None;
  }
  return TextLoss::OutOfMemory;
}

void TextWriter::free_heap() noexcept { std::free(block_of(data_)); }

std::size_t TextWriter::heap_bytes() const noexcept { return is_on_heap() ? elsewhere().capacity + kAroundText : 0; }

SharedHeader* TextWriter::finish_heap_block() noexcept {
  data_[size_] = '\0';
  auto* header = new (block_of(data_)) SharedHeader(SharedOwner::Heap, size_, 1);
  if (bytes_details::report_sharing != nullptr) bytes_details::report_sharing(header, false);
  return header;
}

// Closes the stream; the first reason stays. A closed text has room for a terminating zero: in full inline memory the
// last character gives way.
bool TextWriter::lose(TextLoss loss, std::size_t lost_bytes) noexcept {
  if (is_fixed()) elsewhere().lost_bytes += lost_bytes;
  if (is_inline() && spare() == 0 && limit_ > 0) {
    --size_;
    drop_cut_character();
  }
  unsigned bits = reasons();
  if ((bits & ~kFrozen) == 0) bits |= static_cast<unsigned>(loss);
  limit_ = -static_cast<std::int32_t>(bits);
  return false;
}

TextLoss TextWriter::loss() const noexcept { return static_cast<TextLoss>(reasons() & ~kFrozen); }

// Removes an incomplete UTF-8 character from the end.
void TextWriter::drop_cut_character() noexcept {
  for (std::uint32_t back = 1; back <= std::min(3U, size_); ++back) {
    const auto byte = static_cast<unsigned char>(data_[size_ - back]);
    if ((byte & 0xC0) == 0x80) continue;  // a later byte of a character
    const std::uint32_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    if (length > back) size_ -= back;
    return;
  }
}

bool TextWriter::append_slowly(const char* text, std::size_t size) noexcept {
  if (size == 0) return true;
  if (limit_ < 0) return lose(is_frozen() ? TextLoss::WrittenWhenFrozen : TextLoss::Truncated, size);
  if (is_fixed()) {
    const std::size_t taken = spare();
    std::memcpy(data_ + size_, text, taken);
    const std::uint32_t whole = size_ + static_cast<std::uint32_t>(taken);
    size_ = whole;
    drop_cut_character();
    return lose(TextLoss::Truncated, size - taken + (whole - size_));
  }
  // text of this very stream moves with it
  const std::less<const char*> before;
  const bool is_own = !before(text, data_) && before(text, data_ + size_);
  const std::size_t offset = is_own ? static_cast<std::size_t>(text - data_) : 0;
  if (const TextLoss failure = grow(size); failure != TextLoss::None) return lose(failure, size);
  std::memcpy(data_ + size_, is_own ? data_ + offset : text, size);
  size_ += static_cast<std::uint32_t>(size);
  return true;
}

bool TextWriter::append(std::size_t count, char character) noexcept {
  const bool is_whole = count <= kLargestSize && reserve(count);
  const std::size_t taken = is_whole ? count : is_fixed() ? spare() : 0;
  std::memset(data_ + size_, character, taken);
  size_ += static_cast<std::uint32_t>(taken);
  if (is_whole || count == 0) return true;
  if (is_frozen()) return lose(TextLoss::WrittenWhenFrozen, count);
  if (is_fixed()) return lose(TextLoss::Truncated, count - taken);
  return lose(count > kLargestSize - size_ ? TextLoss::TooLarge : TextLoss::OutOfMemory, count);
}

template <std::size_t kMost, typename... Arguments>
bool TextWriter::append_chars(Arguments... arguments) noexcept {
  const auto [end, error] = std::to_chars(data_ + size_, data_ + size_ + spare(), arguments...);
  if (error == std::errc{}) {
    size_ = static_cast<std::uint32_t>(end - data_);
    return true;
  }
  char digits[kMost];
  const auto written = std::to_chars(digits, digits + kMost, arguments...);
  return append_slowly(digits, static_cast<std::size_t>(written.ptr - digits));
}

bool TextWriter::append_signed(std::int64_t number, int base) noexcept {
  return append_chars<65>(number, std::clamp(base, 2, 36));
}

bool TextWriter::append_unsigned(std::uint64_t number, int base) noexcept {
  return append_chars<64>(number, std::clamp(base, 2, 36));
}

// By write(to), or by std::to_chars with the arguments where that returns null.
template <std::size_t kMost, typename Write, typename... Arguments>
bool TextWriter::append_decimal(const Write& write, Arguments... arguments) noexcept {
  char aside[text_details::kMostDecimalBytes];
  const bool has_room = spare() >= text_details::kMostDecimalBytes;
  char* const to = has_room ? data_ + size_ : aside;
  const char* const end = write(to);
  if (end == nullptr) return append_chars<kMost>(arguments...);
  const auto size = static_cast<std::size_t>(end - to);
  if (!has_room) return append({aside, size});
  size_ += static_cast<std::uint32_t>(size);
  return true;
}

bool TextWriter::append_number(double number) noexcept {
  return append_decimal<32>([&](char* to) { return text_details::write_shortest(to, number); }, number);
}
bool TextWriter::append_number(long double number) noexcept { return append_chars<64>(number); }
bool TextWriter::append_number(float number) noexcept { return append_chars<32>(number); }

bool TextWriter::append_fixed(double number, int digits) noexcept {
  constexpr int kMostDigits = 1074;  // the least double is 2^-1074
  digits = std::clamp(digits, 0, kMostDigits);
  return append_decimal<312 + kMostDigits>([&](char* to) { return text_details::write_fixed(to, number, digits); },
                                           number, std::chars_format::fixed, digits);
}

const char* TextWriter::c_str() noexcept {
  if (limit_ >= 0 && spare() == 0 && is_inline()) {
    if (const TextLoss failure = grow(1); failure != TextLoss::None) lose(failure, 0);
  }
  data_[size_] = '\0';
  return data_;
}

void TextWriter::freeze() noexcept {
  c_str();
  limit_ = -static_cast<std::int32_t>(reasons() | kFrozen);
}

}  // namespace tare::inline TARE_ABI
