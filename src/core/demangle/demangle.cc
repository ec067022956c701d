// Chooses the scheme by prefix and sets clone suffixes apart.
#include "core/demangle/demangle.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/demangle/bounded_cxx_demangler.h"
#include "core/demangle/rust_legacy.h"
#include "core/demangle/rust_v0.h"

namespace tare::core {
namespace {

// Suffixes that GCC, Clang and rustc append to clones. A list, because '.' is an ordinary character in the names of
// other languages (Go).
constexpr std::array<std::string_view, 19> kCloneWords = {
    "cold",    "isra",     "constprop", "part",     "lto_priv", "llvm",    "localalias", "clone",  "warm",    "hot",
    "startup", "unlikely", "exit",      "resolver", "ifunc",    "destroy", "actor",      "resume", "cleanup",
};

bool is_number(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

SplitName split_clone_suffix(std::string_view symbol) {
  if (symbol.starts_with("_R")) {  // its grammar has no '.': the first one begins the vendor's suffix
    const std::size_t dot = std::min(symbol.find('.'), symbol.size());
    return {symbol.substr(0, dot), symbol.substr(dot)};
  }
  // From the right: groups of a known word and the numbers after it. A lone number ends a mangled name only.
  std::size_t base = symbol.size();
  std::size_t group = symbol.size();
  while (group > 1) {
    const std::size_t dot = symbol.rfind('.', group - 1);
    if (dot == std::string_view::npos || dot == 0) break;
    const std::string_view word = symbol.substr(dot + 1, group - dot - 1);
    group = dot;
    if (std::find(kCloneWords.begin(), kCloneWords.end(), word) != kCloneWords.end()) {
      base = dot;
    } else if (!is_number(word)) {
      break;
    } else if (symbol.starts_with("_Z") && symbol.find('.') == dot) {
      base = dot;
    }
  }
  return {symbol.substr(0, base), symbol.substr(base)};
}

std::string_view without_decltype_result(std::string_view readable) {
  constexpr std::string_view kDecltype = "decltype";
  if (!readable.starts_with(kDecltype)) return readable;
  std::size_t at = readable.find('(');
  if (at > kDecltype.size() + 1) return readable;  // or npos
  for (int depth = 0; at < readable.size(); ++at) {
    if (readable[at] == '(') ++depth;
    if (readable[at] == ')' && --depth == 0) break;
  }
  const std::size_t rest = readable.find_first_not_of(' ', std::min(at, readable.size() - 1) + 1);
  return rest == std::string_view::npos ? readable : readable.substr(rest);
}

std::string demangle_base(std::string_view name) {
  constexpr std::size_t kMaxMangledBytes = 1 << 16;  // demanglers recurse; real names stay below some 10 KiB
  if (name.size() > kMaxMangledBytes) return std::string(name);
  if (name.starts_with("_R")) return demangle_rust_v0(name).value_or(std::string(name));
  if (!name.starts_with("_Z")) return std::string(name);
  if (auto rust = demangle_rust_legacy(name)) return *std::move(rust);
  const std::optional<std::string> readable = demangle_cxx(std::string(name));
  return std::string(readable ? without_decltype_result(*readable) : name);
}

std::string demangle(std::string_view symbol) {
  const SplitName split = split_clone_suffix(symbol);
  std::string readable = demangle_base(split.base);
  if (!split.clone.empty()) readable.append(" [clone ").append(split.clone).append("]");
  return readable;
}

}  // namespace tare::core
