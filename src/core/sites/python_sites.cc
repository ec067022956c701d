// Sorts rows by whose they are, then finds each stack's naming frame in one pass: callers have smaller ids.
// SPDX-License-Identifier: Apache-2.0
#include "core/sites/python_sites.h"

#include <algorithm>
#include <cctype>

#include "trace/model/python_state.h"

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
  return name.starts_with("libpython3") || name.starts_with("python3") || name == "python" ||
         name.starts_with("libc.so") || name.starts_with("libc-2.") || name.starts_with("ld-linux") ||
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

PythonSites::PythonSites(const Tables& tables, std::span<const std::uint32_t> caller_of,
                         std::span<const std::uint32_t> row_of) {
  const Table* const given = tables.find("given_frames");
  const Table& modules = tables["modules"];
  const Column& paths = modules["path"];
  std::vector<bool> is_interpreter(modules.rows());
  std::int64_t python = -1;
  for (std::size_t i = 0; i < modules.rows(); ++i) {
    is_interpreter[i] = is_python_interpreter(paths.text(i));
    if (paths.text(i) == trace::kPythonModule) python = static_cast<std::int64_t>(i);
  }
  if (given == nullptr || python < 0) return;

  const Column& module_of = tables["locations"]["module_id"];
  layers_.resize(tables["locations"].rows(), Layer::Other);
  for (std::size_t row = 0; row < layers_.size(); ++row) {
    if (module_of.is_null(row)) continue;
    const auto module = static_cast<std::size_t>(module_of.ints[row]);
    if (module < is_interpreter.size() && is_interpreter[module]) layers_[row] = Layer::Interpreter;
    if (module_of.ints[row] == python) layers_[row] = Layer::ImportedPython;
  }
  for (std::size_t i = 0; i < given->rows(); ++i) {
    const auto row = static_cast<std::size_t>((*given)["location_id"].ints[i]);
    if (row >= layers_.size() || layers_[row] != Layer::ImportedPython) continue;
    if (!is_imported_python((*given)["file"].text(i), (*given)["function"].text(i))) layers_[row] = Layer::OwnPython;
  }

  std::vector<std::uint32_t> nearest(caller_of.size());  // Python frame outwards of interpreter frames only; 0: none
  std::vector<std::uint32_t> own(caller_of.size());      // the user's own frame, outwards of anything; 0: none
  named_from_.resize(caller_of.size());
  for (std::uint32_t stack = 0; stack < caller_of.size(); ++stack) {
    named_from_[stack] = stack;
    if (stack == 0) continue;
    const Layer layer = layers_[row_of[stack]];
    const std::uint32_t caller = caller_of[stack];
    own[stack] = layer == Layer::OwnPython ? stack : own[caller];
    nearest[stack] = layer >= Layer::ImportedPython ? stack : layer == Layer::Interpreter ? nearest[caller] : 0;
    if (nearest[stack] != 0) named_from_[stack] = own[stack] != 0 ? own[stack] : nearest[stack];
  }
}

}  // namespace tare::core
