// GLib's format strings: where one ends, which type it makes, and values written from a call's arguments by it.
//
// A format is a type string with signs for the passing of arguments: @ before a type for a value, & and ^ for texts and
// lists of them, * ? r for a value of any, any basic, any tuple type.
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "tare/variant/builder.h"

namespace tare::inline TARE_ABI::variant::c {

// The end of the format that `format` begins with; null if there's none.
const char* end_of_format(const char* format) noexcept;

// The type that a format makes, without signs: indefinite where the format has * ? or r.
std::string type_of_format(std::string_view format);

constexpr bool is_definite(std::string_view type) noexcept {
  for (const char code : type) {  // find_first_of() calls memchr for each character
    if (code == '*' || code == '?' || code == 'r') return false;
  }
  return true;
}

// The format behind the next % in `text`, a value's text, in which a % within quotes is none; null if there's none.
const char* next_format_in(const char* text) noexcept;

// True if a format's maybe is a null pointer, not a boolean before its arguments.
constexpr bool is_pointer(char code) noexcept {
  switch (code) {
    case 'a':
    case 's':
    case 'o':
    case 'g':
    case '^':
    case '@':
    case '*':
    case '?':
    case 'r':
    case 'v':
    case '&':
      return true;
    default:
      return false;
  }
}

// A call's arguments, to be handed on.
struct Arguments {
  va_list list;
};

// Goes past the arguments of one format. Where `type` isn't null their type is appended, by Host::type_of_value and
// Host::type_of_builder where the format leaves it open. Host::see_builder gets each builder.
template <typename Host>
void skip_arguments(Host& host, const char*& format, Arguments& arguments, std::string* type) {
  const char code = *format;
  const auto append = [type](std::string_view text) {
    if (type != nullptr) *type += text;
  };
  switch (code) {
    case 'b':
    case 'y':
    case 'n':
    case 'q':
    case 'i':
    case 'u':
    case 'h':
      va_arg(arguments.list, int);
      append({format++, 1});
      return;
    case 'x':
    case 't':
      va_arg(arguments.list, std::int64_t);
      append({format++, 1});
      return;
    case 'd':
      va_arg(arguments.list, double);
      append({format++, 1});
      return;
    case 'm':
      append({format++, 1});
      if (!is_pointer(*format)) va_arg(arguments.list, int);
      return skip_arguments(host, format, arguments, type);
    case '(':
    case '{':
      append({format++, 1});
      while (*format != ')' && *format != '}') skip_arguments(host, format, arguments, type);
      append({format++, 1});
      return;
    default: {
      const char* end = end_of_format(format);
      void* pointer = va_arg(arguments.list, void*);
      if (code == 'a' && pointer != nullptr) host.see_builder(pointer);
      const std::string text = type_of_format({format, static_cast<std::size_t>(end - format)});
      if (is_definite(text) || pointer == nullptr) {
        append(text);
      } else {
        append(code == 'a' ? host.type_of_builder(pointer) : host.type_of_value(pointer));
      }
      format = end;
      return;
    }
  }
}

constexpr bool is_number(char code) noexcept {
  const unsigned bits = type_details::code_bits(code);
  return (bits & type_details::kBasic) != 0 && (bits & type_details::kVariable) == 0;
}

// Writes the next argument, which is a number.
inline bool write_number(Builder& to, char code, Arguments& arguments) noexcept {
  va_list& list = arguments.list;
  switch (code) {
    case 'b':
      return to.add_bool(va_arg(list, int) != 0);
    case 'y':
      return to.add_byte(static_cast<std::uint8_t>(va_arg(list, int)));
    case 'n':
      return to.add_int16(static_cast<std::int16_t>(va_arg(list, int)));
    case 'q':
      return to.add_uint16(static_cast<std::uint16_t>(va_arg(list, int)));
    case 'i':
      return to.add_int32(va_arg(list, int));
    case 'u':
      return to.add_uint32(va_arg(list, unsigned));
    case 'h':
      return to.add_handle({va_arg(list, unsigned)});
    case 'x':
      return to.add_int64(va_arg(list, std::int64_t));
    case 't':
      return to.add_uint64(va_arg(list, std::uint64_t));
    default:
      return to.add_double(va_arg(list, double));
  }
}

// Writes one value for a valid format of the type that the builder expects. Host has
//   bool add(Builder&, void* value, std::string_view type);           the value, if it is of the type
//   bool add_in_variant(Builder&, void* value);
//   bool add_built(Builder&, void* builder, std::string_view type);   what the builder has built
template <typename Host>
class FormatWriter {
 public:
  FormatWriter(Host& host, Builder& to, Arguments& arguments) noexcept : host_(host), to_(to), arguments_(arguments) {}

  bool write(const char*& format) {
    const char code = *format;
    if (is_number(code)) return ++format, write_number(to_, code, arguments_);
    switch (code) {
      case '(':
      case '{':
        if (!to_.open()) return false;
        for (++format; *format != ')' && *format != '}';) {
          if (!write(format)) return false;
        }
        return ++format, to_.close();
      case 'm':
        return write_maybe(++format);
      default:
        return write_pointer(format, va_arg(arguments_.list, void*));
    }
  }

 private:
  bool write_maybe(const char*& format) {
    if (is_pointer(*format)) {
      void* pointer = va_arg(arguments_.list, void*);
      if (pointer != nullptr) return to_.open_maybe() && write_pointer(format, pointer) && to_.close();
      format = end_of_format(format);
      return to_.add_nothing();
    }
    if (va_arg(arguments_.list, int) != 0) return to_.open_maybe() && write(format) && to_.close();
    skip_arguments(host_, format, arguments_, nullptr);
    return to_.add_nothing();
  }

  bool write_pointer(const char*& format, void* pointer) {
    switch (*format) {
      case '&':
        ++format;
        [[fallthrough]];
      case 's':
      case 'o':
      case 'g':
        return ++format, add_text(static_cast<const char*>(pointer));
      case 'v':
        return ++format, host_.add_in_variant(to_, pointer);
      case '*':
      case '?':
      case 'r':
        return ++format, host_.add(to_, pointer, to_.wanted());
      case '^':
        return add_list(format, static_cast<const char* const*>(pointer));
      case '@':
        ++format;
        return host_.add(to_, pointer, type_at(format));
      default:
        return host_.add_built(to_, pointer, type_at(format));
    }
  }

  static std::string_view type_at(const char*& format) {
    const char* begin = format;
    format = type_details::skip(format);
    return {begin, static_cast<std::size_t>(format - begin)};
  }

  bool add_text(const char* text) {
    if (text == nullptr) return to_.fail(WriteError::NotText);
    return to_.add_text({text, std::strlen(text)});
  }
  // With its zero.
  bool add_bytestring(const char* text) {
    if (text == nullptr) return to_.fail(WriteError::NotText);
    return to_.add_fixed_array(text, std::strlen(text) + 1);
  }

  // ^as, ^ao, ^ay, ^aay, and with & as if it weren't there.
  bool add_list(const char*& format, const char* const* list) {
    const char* end = end_of_format(format);
    const char element = end[-1];
    const bool is_one = format[1] == '&' || format[2] == 'y';
    format = end;
    if (is_one) return add_bytestring(reinterpret_cast<const char*>(list));
    if (list == nullptr) return to_.fail(WriteError::NotText);
    if (!to_.open_array()) return false;
    for (; *list != nullptr; ++list) {
      if (!(element == 'y' ? add_bytestring(*list) : add_text(*list))) return false;
    }
    return to_.close();
  }

  Host& host_;
  Builder& to_;
  Arguments& arguments_;
};

}  // namespace tare::inline TARE_ABI::variant::c
