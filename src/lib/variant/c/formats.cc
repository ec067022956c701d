// The grammar of format strings.
#include "lib/variant/c/formats.h"

namespace tare::inline TARE_ABI::variant::c {
namespace {

constexpr std::string_view kLeaves = "bynqiuxthdsogv*?r";

bool has(std::string_view set, char code) { return code != 0 && set.find(code) != set.npos; }

// After ^: lists of texts, and bytestrings.
const char* end_of_list(const char* format) {
  for (const std::string_view list : {"a&ay", "aay", "a&s", "a&o", "as", "ao", "ay", "&ay"}) {
    if (std::strncmp(format, list.data(), list.size()) == 0) return format + list.size();
  }
  return nullptr;
}

const char* end_at(const char* format, std::size_t levels_left) {
  if (levels_left == 0) return nullptr;
  const char code = *format++;
  if (has(kLeaves, code)) return format;
  switch (code) {
    case 'm':
      return end_at(format, levels_left - 1);
    case 'a':
    case '@': {
      const char* begin = code == 'a' ? format - 1 : format;
      std::size_t depth = 0;
      const std::string_view text(begin, std::strlen(begin));
      const std::size_t end = type_details::scan(text, 0, type_details::Indefinite::Accepted, depth);
      return end == text.npos ? nullptr : begin + end;
    }
    case '&':
      return has("sog", *format) ? format + 1 : nullptr;
    case '^':
      return end_of_list(format);
    case '(':
      while (*format != ')') {
        format = end_at(format, levels_left - 1);
        if (format == nullptr) return nullptr;
      }
      return format + 1;
    case '{':
      if (*format == '&') {
        if (!has("sog", *++format)) return nullptr;
      } else {
        if (*format == '@') ++format;
        if (!has("bynqiuxthdsog?", *format)) return nullptr;
      }
      format = end_at(format + 1, levels_left - 1);
      return format != nullptr && *format == '}' ? format + 1 : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace

const char* end_of_format(const char* format) noexcept { return end_at(format, kDeepest); }

const char* next_format_in(const char* text) noexcept {
  for (char quote = 0; *text != 0; ++text) {
    if (quote == 0 && *text == '%') return text + 1;
    if (quote == 0 && (*text == '\'' || *text == '"')) {
      quote = *text;
    } else if (*text == quote) {
      quote = 0;
    } else if (quote != 0 && *text == '\\' && text[1] != 0) {
      ++text;
    }
  }
  return nullptr;
}

std::string type_of_format(std::string_view format) {
  std::string type;
  for (const char code : format) {
    if (code != '@' && code != '&' && code != '^') type += code;
  }
  return type;
}

}  // namespace tare::inline TARE_ABI::variant::c
