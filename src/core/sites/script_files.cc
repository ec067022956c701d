// Recognizes files by their paths: see script_files.h.
// SPDX-License-Identifier: Apache-2.0
#include "core/sites/script_files.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace tare::core {
namespace {

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// ".../lib/python3.11/...": where the standard library and installed packages are.
bool is_below_library(std::string_view file) {
  constexpr std::string_view kFolder = "/python3";
  for (std::size_t at = file.find(kFolder); at != std::string_view::npos; at = file.find(kFolder, at + 1)) {
    const std::string_view parent = base_name(file.substr(0, at));
    std::string_view rest = file.substr(at + kFolder.size());
    if (parent != "lib" && parent != "lib64") continue;
    if (rest.starts_with('/')) return true;  // Debian's /usr/lib/python3/dist-packages
    if (!rest.starts_with('.')) continue;
    rest.remove_prefix(1);
    const auto digits = static_cast<std::size_t>(
        std::find_if(rest.begin(), rest.end(), [](unsigned char c) { return std::isdigit(c) == 0; }) - rest.begin());
    if (digits > 0 && digits < rest.size() && (rest[digits] == '/' || rest[digits] == 't')) return true;
  }
  return false;
}

}  // namespace

bool is_python_interpreter(std::string_view module_path) {
  const std::string_view name = base_name(module_path);
  return name.starts_with("libpython3") || name.starts_with("python3") || name == "python" || is_libc(module_path) ||
         contains(module_path, "/lib-dynload/");
}

bool is_imported_python(std::string_view file, std::string_view function) {
  if (file.empty()) return true;
  if (file.starts_with('<')) {
    // "<frozen importlib._bootstrap>"; "<string>" is a script given with -c, or what dataclasses generate.
    if (file.starts_with("<stdin") || file.starts_with("<ipython") || file.starts_with("<python-input")) return false;
    const bool is_generated = base_name(function).starts_with("__") || contains(function, ".__");
    return file != "<string>" || is_generated;
  }
  return contains(file, "/site-packages/") || contains(file, "/dist-packages/") || is_below_library(file);
}

bool is_libc(std::string_view module_path) {
  const std::string_view name = base_name(module_path);
  return name.starts_with("libc.so") || name.starts_with("libc-2.") || name.starts_with("ld-linux");
}

bool is_javascript_engine(std::string_view module_path) {
  const std::string_view name = base_name(module_path);
  return name == "node" || name == "nodejs" || name.starts_with("libnode.so") || name == "electron" || name == "deno";
}

bool is_javascript(std::string_view file) {
  constexpr std::string_view kSuffixes[] = {".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx"};
  if (file.starts_with("node:") || file.starts_with("internal/")) return true;
  if (file.starts_with("[eval]") || file.starts_with("evalmachine.")) return true;
  return std::ranges::any_of(kSuffixes, [&](std::string_view suffix) { return file.ends_with(suffix); });
}

bool is_imported_javascript(std::string_view file) {
  return file.starts_with("node:") || file.starts_with("internal/") || contains(file, "/node_modules/");
}

}  // namespace tare::core
