// Recognizes files by their paths and Java's methods by their names: see script_files.h.
// SPDX-License-Identifier: Apache-2.0
#include "core/sites/script_files.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iterator>

#include "trace/model/python_state.h"

namespace tare::core {
namespace {

// "app.Store.add" of "void app.Store.add(int)"; empty: not a method.
std::string_view qualified_method(std::string_view function) {
  const std::size_t bracket = function.find('(');
  if (bracket == std::string_view::npos || !function.ends_with(')')) return {};
  const std::string_view head = function.substr(0, bracket);
  const std::size_t blank = head.rfind(' ');
  if (blank == std::string_view::npos || head.find('.', blank) == std::string_view::npos) return {};
  return head.substr(blank + 1);
}

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

bool is_java_engine(std::string_view module_path) {
  constexpr std::string_view kNames[] = {"libjvm.so", "libjava.so",   "libnio.so", "libnet.so",
                                         "libzip.so", "libjimage.so", "libjli.so", "java"};
  return std::ranges::find(kNames, base_name(module_path)) != std::end(kNames);
}

bool is_java_method(std::string_view function) { return !qualified_method(function).empty(); }

bool is_imported_java(std::string_view function) {
  constexpr std::string_view kPackages[] = {"java.", "javax.", "jdk.", "sun.", "com.sun."};
  const std::string_view method = qualified_method(function);
  return std::ranges::any_of(kPackages, [&](std::string_view package) { return method.starts_with(package); });
}

bool is_own_managed(std::string_view module, std::string_view file, std::string_view function) {
  if (module == trace::kPythonModule) return !is_imported_python(file, function);
  if (!module.empty()) return false;
  if (is_javascript(file)) return !is_imported_javascript(file);
  return file.empty() && is_java_method(function) && !is_imported_java(function);
}

}  // namespace tare::core
