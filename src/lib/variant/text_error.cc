// Shows where in a text an error is: the lines with marks below.
#include <algorithm>
#include <string>

#include "tare/variant/text.h"

namespace tare::inline TARE_ABI::variant {
namespace {

// The end of the text is meant: its last line that has something in it, and a mark behind.
void add_last_line(std::string& to, std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || (text.back() >= '\t' && text.back() <= '\r' && text.back() != '\v'))) {
    text.remove_suffix(1);
  }
  const std::string_view line = text.substr(text.rfind('\n') + 1);
  to += "  ";
  to += line.empty() ? "(empty input)" : line;
  to += "\n  " + std::string(line.size(), ' ') + "^\n";
}

void add_lines(std::string& to, std::string_view text, TextRange one, TextRange other) {
  const std::size_t end = std::max(one.end, other.end);
  for (std::size_t line = 0; line < end;) {
    const std::size_t line_end = std::min(text.find('\n', line), text.size());
    const auto touches = [&](TextRange range) { return range.begin < line_end && line < range.end; };
    if (touches(one) || touches(other)) {
      to += "  ";
      to += text.substr(line, line_end - line);
      to += "\n  ";
      for (std::size_t at = line; at < line_end; ++at) {
        const auto has = [&](TextRange range) { return range.begin <= at && at < range.end; };
        to += has(one) || has(other) ? '^' : ' ';
      }
      to += '\n';
    }
    if (line_end == text.size()) break;
    line = line_end + 1;
  }
}

std::string numbers(TextRange range) {
  if (range.begin == range.end) return std::to_string(range.begin);
  return std::to_string(range.begin) + '-' + std::to_string(range.end);
}

}  // namespace

std::string ParseError::line() const { return numbers(where) + (other ? ',' + numbers(*other) : "") + ':' + message; }

std::string ParseError::context(std::string_view text) const {
  text = text.substr(0, text.find('\0'));
  std::string result = message + ":\n";
  if (where.begin != where.end) {
    add_lines(result, text, where, other.value_or(TextRange{}));
  } else if (where.begin >= text.size()) {
    add_last_line(result, text);
  } else {
    add_lines(result, text, {where.begin, where.begin + 1}, {});
  }
  return result;
}

}  // namespace tare::inline TARE_ABI::variant
