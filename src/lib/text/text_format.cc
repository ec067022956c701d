// printf into text writers. Plain conversions are written here; formats with others go to the C library from the start.
#include <langinfo.h>
#include <sys/types.h>

#include <charconv>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "lib/text/decimals.h"
#include "tare/internal/text_writer.h"

namespace tare::inline TARE_ABI {
namespace {

enum class Length : std::uint8_t { Char, Short, Int, Long, LongLong };

// "%-08.3ld" without its %.
struct Conversion {
  bool is_left = false;
  bool has_zeros = false;
  int width = 0;
  int precision = -1;
  Length length = Length::Int;
  char kind = 0;  // 0: one for the C library
};

// A number of the format; above 999 nothing is handled here.
int parse_number(const char*& at) noexcept {
  int number = 0;
  for (; *at >= '0' && *at <= '9'; ++at) {
    if (number < 1000) number = number * 10 + (*at - '0');
  }
  return number;
}

Length parse_length(const char*& at) noexcept {
  switch (*at) {
    case 'h':
      return *++at == 'h' ? (++at, Length::Char) : Length::Short;
    case 'l':
      return *++at == 'l' ? (++at, Length::LongLong) : Length::Long;
    case 'z':
    case 't':
    case 'j':
      static_assert(sizeof(long) == sizeof(std::size_t) && sizeof(long) == sizeof(std::intmax_t));
      ++at;
      return Length::Long;
    default:
      return Length::Int;
  }
}

// `at` stands behind the %, and afterwards behind the conversion.
Conversion parse(const char*& at) noexcept {
  Conversion parsed;
  for (;; ++at) {
    if (*at == '-') {
      parsed.is_left = true;
    } else if (*at == '0') {
      parsed.has_zeros = true;
    } else {
      break;
    }
  }
  parsed.width = parse_number(at);
  if (*at == '.') parsed.precision = parse_number(++at);
  parsed.length = parse_length(at);
  if (parsed.width > 999 || parsed.precision > 999 || *at == '\0') return parsed;
  const char kind = *at++;
  const bool is_plain = parsed.length == Length::Int;
  switch (kind) {
    case 'd':
    case 'i':
    case 'u':
    case 'x':
      if (parsed.precision < 0) parsed.kind = kind == 'i' ? 'd' : kind;
      break;
    case 's':
      if (is_plain && !parsed.has_zeros) parsed.kind = kind;
      break;
    case 'c':
      if (is_plain && !parsed.has_zeros && parsed.precision < 0) parsed.kind = kind;
      break;
    case 'f':
      if (is_plain || parsed.length == Length::Long) parsed.kind = kind;
      break;
    default:
      break;
  }
  return parsed;
}

std::int64_t next_signed(Length length, std::va_list& arguments) noexcept {
  switch (length) {
    case Length::Char:
      return static_cast<signed char>(va_arg(arguments, int));
    case Length::Short:
      return static_cast<short>(va_arg(arguments, int));
    case Length::Int:
      return va_arg(arguments, int);
    case Length::Long:
      return va_arg(arguments, long);
    case Length::LongLong:
      break;
  }
  return va_arg(arguments, long long);
}

std::uint64_t next_unsigned(Length length, std::va_list& arguments) noexcept {
  switch (length) {
    case Length::Char:
      return static_cast<unsigned char>(va_arg(arguments, unsigned));
    case Length::Short:
      return static_cast<unsigned short>(va_arg(arguments, unsigned));
    case Length::Int:
      return va_arg(arguments, unsigned);
    case Length::Long:
      return va_arg(arguments, unsigned long);
    case Length::LongLong:
      break;
  }
  return va_arg(arguments, unsigned long long);
}

bool is_decimal_point_a_point() noexcept {
  const char* const point = nl_langinfo(RADIXCHAR);
  return point[0] == '.' && point[1] == '\0';
}

void pad(TextWriter& out, const Conversion& conversion, std::string_view text) noexcept {
  const auto width = static_cast<std::size_t>(conversion.width);
  if (text.size() >= width) {
    out.append(text);
  } else if (conversion.is_left) {
    out.append(text);
    out.append(width - text.size(), ' ');
  } else if (conversion.has_zeros) {
    const bool has_sign = text.front() == '-';
    if (has_sign) out.append('-');
    out.append(width - text.size(), '0');
    out.append(text.substr(has_sign ? 1 : 0));
  } else {
    out.append(width - text.size(), ' ');
    out.append(text);
  }
}

// False if it is one for the C library after all.
bool write_next(TextWriter& out, const Conversion& conversion, std::va_list& arguments) noexcept {
  char piece[text_details::kMostDecimalBytes];
  char* end = piece;
  switch (conversion.kind) {
    case 'd':
      end = std::to_chars(piece, piece + sizeof(piece), next_signed(conversion.length, arguments)).ptr;
      break;
    case 'u':
      end = std::to_chars(piece, piece + sizeof(piece), next_unsigned(conversion.length, arguments)).ptr;
      break;
    case 'x':
      end = std::to_chars(piece, piece + sizeof(piece), next_unsigned(conversion.length, arguments), 16).ptr;
      break;
    case 'c':
      *end++ = static_cast<char>(va_arg(arguments, int));
      break;
    case 'f': {
      if (!is_decimal_point_a_point()) return false;
      const int digits = conversion.precision < 0 ? 6 : conversion.precision;
      end = text_details::write_fixed(piece, va_arg(arguments, double), digits);
      if (end == nullptr) return false;
      break;
    }
    default: {
      const char* text = va_arg(arguments, const char*);
      const bool is_cut = conversion.precision >= 0;
      if (text == nullptr) text = !is_cut || conversion.precision >= 6 ? "(null)" : "";  // as glibc
      const std::size_t size =
          is_cut ? strnlen(text, static_cast<std::size_t>(conversion.precision)) : std::strlen(text);
      pad(out, conversion, {text, size});
      return true;
    }
  }
  pad(out, conversion, {piece, static_cast<std::size_t>(end - piece)});
  return true;
}

}  // namespace

bool TextWriter::print(const char* format, ...) noexcept {
  std::va_list arguments;
  va_start(arguments, format);
  const bool is_written = vprint(format, arguments);
  va_end(arguments);
  return is_written;
}

bool TextWriter::vprint(const char* format, std::va_list arguments) noexcept {
  if (limit_ < 0) return print_by_c(format, arguments);  // counts the lost bytes
  const std::uint32_t size_before = size_;
  const std::int32_t limit_before = limit_;
  const std::size_t lost_before = is_fixed() ? elsewhere().lost_bytes : 0;
  std::va_list rest;
  va_copy(rest, arguments);
  bool is_handled = true;
  for (const char* at = format; *at != '\0' && limit_ >= 0;) {
    const char* const percent = std::strchr(at, '%');
    const std::size_t literal = percent == nullptr ? std::strlen(at) : static_cast<std::size_t>(percent - at);
    if (literal != 0) append({at, literal});
    if (percent == nullptr) break;
    at = percent + 1;
    if (*at == '%') {
      append(*at++);
      continue;
    }
    const Conversion conversion = parse(at);
    is_handled = conversion.kind != 0 && write_next(*this, conversion, rest);
    if (!is_handled) break;
  }
  va_end(rest);
  if (is_handled && limit_ >= 0) return true;
  // From the start, because %n counts from there; and so that text without room is lost as a whole and counted.
  size_ = size_before;
  if (limit_ < 0) limit_ = is_inline() ? limit_before : static_cast<std::int32_t>(elsewhere().capacity);
  if (is_fixed()) elsewhere().lost_bytes = lost_before;
  return print_by_c(format, arguments);
}

bool TextWriter::print_by_c(const char* format, std::va_list arguments) noexcept {
  std::va_list again;
  va_copy(again, arguments);
  // the zero that vsnprintf adds is text's own room, save in full inline memory
  const std::size_t room = spare() + (is_inline() || limit_ < 0 ? 0 : 1);
  const int length = std::vsnprintf(room > 0 ? data_ + size_ : nullptr, room, format, arguments);
  bool is_written = false;
  if (length >= 0) {
    const auto size = static_cast<std::size_t>(length);
    if (size < room || (size == 0 && limit_ >= 0)) {
      size_ += static_cast<std::uint32_t>(size);
      is_written = true;
    } else if (limit_ < 0) {
      is_written = size == 0 || lose(is_frozen() ? TextLoss::WrittenWhenFrozen : TextLoss::Truncated, size);
    } else if (is_fixed()) {
      size_ += static_cast<std::uint32_t>(room - 1);
      const std::uint32_t whole = size_;
      drop_cut_character();
      lose(TextLoss::Truncated, size - (room - 1) + (whole - size_));
    } else if (const TextLoss failure = grow(size); failure != TextLoss::None) {
      lose(failure, size);
    } else {
      std::vsnprintf(data_ + size_, size + 1, format, again);
      size_ += static_cast<std::uint32_t>(size);
      is_written = true;
    }
  }
  va_end(again);
  return is_written;
}

}  // namespace tare::inline TARE_ABI
