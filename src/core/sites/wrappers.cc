// Reduces demangled names to the form in wrappers.def, and looks them up.
#include "core/sites/wrappers.h"

#include <algorithm>
#include <cstdlib>
#include <unordered_set>
#include <vector>

namespace tare::core {
namespace {

struct WrapperNames {
  std::unordered_set<std::string_view> exact;
  std::unordered_set<std::string_view> last;
  std::vector<std::string_view> prefixes;
  std::vector<std::string_view> suffixes;
  std::vector<std::string_view> traits;
};

void add_Exact(WrapperNames& names, std::string_view name) { names.exact.insert(name); }
void add_Last(WrapperNames& names, std::string_view name) { names.last.insert(name); }
void add_Prefix(WrapperNames& names, std::string_view name) { names.prefixes.push_back(name); }
void add_Suffix(WrapperNames& names, std::string_view name) { names.suffixes.push_back(name); }
void add_Trait(WrapperNames& names, std::string_view name) { names.traits.push_back(name); }

// The user's wrappers, separated by commas; a star at the end matches any suffix.
void add_users(WrapperNames& names) {
  const char* text = std::getenv("TARE_WRAPPERS");
  static const std::string kept(text == nullptr ? "" : text);
  for (std::string_view left = kept; !left.empty();) {
    const std::size_t comma = std::min(left.find(','), left.size());
    std::string_view name = left.substr(0, comma);
    left.remove_prefix(std::min(comma + 1, left.size()));
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    if (name.ends_with('*')) {
      name.remove_suffix(1);
      if (!name.empty()) names.prefixes.push_back(name);
    } else if (!name.empty()) {
      names.exact.insert(name);
    }
  }
}

const WrapperNames& wrapper_names() {
  static const WrapperNames names = [] {
    WrapperNames made;
    add_users(made);
#define TARE_WRAPPER(kind, name) add_##kind(made, name);
#include "core/sites/program_wrappers.def"
#include "core/sites/wrappers.def"
#undef TARE_WRAPPER
    return made;
  }();
  return names;
}

bool begins_with_one_of(std::string_view name, const std::vector<std::string_view>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool is_c_name_with_one_of(std::string_view name, const std::vector<std::string_view>& suffixes) {
  return name.find(':') == std::string_view::npos &&
         std::any_of(suffixes.begin(), suffixes.end(), [&](std::string_view suffix) { return name.ends_with(suffix); });
}

// Of "<type as trait>::method"; empty for other names.
std::string_view trait_of(std::string_view name) {
  constexpr std::string_view kAs = " as ";
  const std::size_t as = name.front() == '<' ? name.find(kAs) : std::string_view::npos;
  return as == std::string_view::npos ? std::string_view() : name.substr(as + kAs.size());
}

// "v0_1_0::", the inline namespace of Tare's library (tare/version.h), at the start of the text: its length, or 0.
std::size_t length_of_own_version(std::string_view text) {
  if (text.size() < 2 || text[0] != 'v' || text[1] < '0' || text[1] > '9') return 0;
  const std::size_t end = text.find_first_not_of("0123456789_", 1);
  return end != std::string_view::npos && text.substr(end, 2) == "::" ? end + 2 : 0;
}

// "std::__cxx11::", "std::__1::" and their like: versions of the library, not places in it.
void leave_versions_out(std::string& name) {
  constexpr std::string_view kStd = "std::";
  constexpr std::string_view kTare = "tare::";
  if (name.starts_with(kTare)) {
    name.erase(kTare.size(), length_of_own_version(std::string_view(name).substr(kTare.size())));
  }
  if (!name.starts_with(kStd)) return;
  for (const std::string_view version : {"__cxx11::", "__1::", "__ndk1::", "__Cr::", "__8::"}) {
    if (std::string_view(name).substr(kStd.size()).starts_with(version)) name.erase(kStd.size(), version.size());
  }
}

bool starts_operator_symbol(std::string_view text, std::size_t at) {
  constexpr std::string_view kOperator = "operator";
  return at >= kOperator.size() && text.substr(at - kOperator.size(), kOperator.size()) == kOperator;
}

}  // namespace

std::string plain_name(std::string_view function) {
  std::string name;
  int depth = 0;  // of template brackets
  for (std::size_t i = 0; i < function.size(); ++i) {
    const char c = function[i];
    if (starts_operator_symbol(function, i) && (c == '<' || c == '>' || c == '(' || c == '-')) {
      // operator<, <<, <=, <=>, >, >>, ->, (): the symbol is part of the name
      std::size_t end = i;
      if (c == '(') {
        end = i + 2;
      } else {
        while (end < function.size() && std::string_view("<>=-*").find(function[end]) != std::string_view::npos) ++end;
      }
      if (depth == 0) name.append(function.substr(i, end - i));
      i = end - 1;
      continue;
    }
    // Rust writes a type in angle brackets at the start of a path: <alloc::vec::Vec<T> as Trait>::method stays readable
    if (c == '<' && !(name.empty() && depth == 0)) {
      ++depth;
    } else if (c == '>' && depth > 0) {
      --depth;
    } else if (depth == 0) {
      if (c == '(' && function.substr(i, 21) == "(anonymous namespace)") {
        name.append("(anonymous)");  // without its space, which would look like the end of a return type
        i += 20;
        continue;
      }
      if (c == '(') break;
      if (c == '[' && function.substr(i, 5) == "[abi:") {
        i = std::min(function.find(']', i), function.size() - 1);
        continue;
      }
      if (c == '[' && function.substr(i, 6) == "[clone") break;
      name.push_back(c);
    }
  }
  while (!name.empty() && name.back() == ' ') name.pop_back();
  if (name.ends_with("::")) name.resize(name.size() - 2);  // of Rust's f::<T>
  // A template function's demangled name starts with its return type: "void* xalloc<int>(int)".
  const std::size_t is_operator = name.find("operator ");
  const std::size_t space = is_operator == std::string::npos ? name.rfind(' ') : name.rfind(' ', is_operator);
  if (space != std::string::npos && space < is_operator && name.front() != '<') name.erase(0, space + 1);
  return name;
}

bool is_wrapper(std::string_view function) {
  if (function.empty()) return false;
  const WrapperNames& names = wrapper_names();
  std::string name = plain_name(function);
  leave_versions_out(name);
  if (names.exact.count(name)) return true;
  const std::size_t last = name.rfind("::");
  if (last != std::string::npos && names.last.count(std::string_view(name).substr(last + 2))) return true;
  if (begins_with_one_of(name, names.prefixes) || is_c_name_with_one_of(name, names.suffixes)) return true;
  return !name.empty() && begins_with_one_of(trait_of(name), names.traits);
}

bool is_wrapper_frame(std::string_view function, std::string_view file) {
  if (function.empty()) return false;
  if (is_wrapper(function)) return true;
  return file.find("/include/c++/") != std::string_view::npos &&
         function.substr(0, function.find('<')).find("::") == std::string_view::npos;
}

}  // namespace tare::core
