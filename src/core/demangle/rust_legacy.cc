// Undoes rustc's legacy symbol escapes.
#include "core/demangle/rust_legacy.h"

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/demangle/utf8.h"

namespace tare::core {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kEscapes = {{
    {"SP", "@"},
    {"BP", "*"},
    {"RF", "&"},
    {"LT", "<"},
    {"GT", ">"},
    {"LP", "("},
    {"RP", ")"},
    {"C", ","},
}};

bool is_lower_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

bool is_hash(std::string_view part) {
  if (part.size() != 17 || part[0] != 'h') return false;
  for (const char c : part.substr(1)) {
    if (!is_lower_hex(c)) return false;
  }
  return true;
}

// `escape` is the text between two '$'.
bool append_escape(std::string& out, std::string_view escape) {
  for (const auto& [code, text] : kEscapes) {
    if (escape == code) {
      out += text;
      return true;
    }
  }
  if (escape.size() < 2 || escape.size() > 7 || escape[0] != 'u') return false;
  std::uint32_t point = 0;
  for (const char c : escape.substr(1)) {
    if (!is_lower_hex(c)) return false;
    point = point * 16 + static_cast<std::uint32_t>(c <= '9' ? c - '0' : c - 'a' + 10);
  }
  if (point < 0x20 || !is_scalar_value(point)) return false;
  append_utf8(out, point);
  return true;
}

void append_part(std::string& out, std::string_view part) {
  if (part.starts_with("_$")) part.remove_prefix(1);  // an identifier may not begin with '$'
  while (!part.empty()) {
    if (part.starts_with("..")) {
      out += "::";
      part.remove_prefix(2);
    } else if (part[0] == '$') {
      const std::size_t end = part.find('$', 1);
      if (end == std::string_view::npos || !append_escape(out, part.substr(1, end - 1))) {
        out += part;  // an unknown escape is copied
        return;
      }
      part.remove_prefix(end + 1);
    } else {
      out += part[0];
      part.remove_prefix(1);
    }
  }
}

}  // namespace

std::optional<std::string> demangle_rust_legacy(std::string_view name) {
  if (!name.starts_with("_ZN") || !name.ends_with("E")) return std::nullopt;
  name = name.substr(3, name.size() - 4);
  std::vector<std::string_view> parts;
  while (!name.empty()) {
    std::size_t length = 0;
    std::size_t digits = 0;
    while (digits < name.size() && digits < 6 && name[digits] >= '0' && name[digits] <= '9') {
      length = length * 10 + static_cast<std::size_t>(name[digits++] - '0');
    }
    if (digits == 0 || length == 0 || name.size() - digits < length) return std::nullopt;
    parts.push_back(name.substr(digits, length));
    name.remove_prefix(digits + length);
  }
  if (parts.size() < 2 || !is_hash(parts.back())) return std::nullopt;
  std::string out;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    if (i != 0) out += "::";
    append_part(out, parts[i]);
  }
  return out;
}

}  // namespace tare::core
