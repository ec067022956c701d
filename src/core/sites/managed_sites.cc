// Sorts rows by whose they are, then finds each stack's naming frame in one pass: callers have smaller ids.
// SPDX-License-Identifier: Apache-2.0
#include "core/sites/managed_sites.h"

#include <map>
#include <numeric>
#include <string_view>
#include <tuple>

#include "core/sites/script_files.h"
#include "trace/model/python_state.h"
#include "trace/model/watched_source.h"

namespace tare::core {

ManagedSites::ManagedSites(const Tables& tables, std::span<const std::uint32_t> caller_of,
                           std::span<const std::uint32_t> row_of) {
  if (tables.find("given_frames") == nullptr) return;
  const Column& source = tables["process"]["imported_from"];
  if (!source.is_null(0) && source.text(0) != trace::kWatchedSource) return;
  join_versions(tables);
  const Runtimes found = runtimes(tables);
  if (found.python < 0 && !found.generate_code()) return;
  sort_rows(tables, found);
  name_stacks(caller_of, row_of);
}

ManagedSites::Runtimes ManagedSites::runtimes(const Tables& tables) {
  const Table& modules = tables["modules"];
  const Column& paths = modules["path"];
  Runtimes found;
  for (std::size_t i = 0; i < modules.rows(); ++i) {
    if (paths.text(i) == trace::kPythonModule) found.python = static_cast<std::int64_t>(i);
    if (is_javascript_engine(paths.text(i))) found.has_javascript = true;
    if (paths.text(i).ends_with("/libjvm.so")) found.has_java = true;
  }
  for (std::size_t i = 0; i < modules.rows(); ++i) {
    const std::string_view path = paths.text(i);
    found.is_interpreter.push_back(is_libc(path) || (found.python >= 0 && is_python_interpreter(path)) ||
                                   (found.has_javascript && is_javascript_engine(path)) ||
                                   (found.has_java && is_java_engine(path)));
  }
  return found;
}

void ManagedSites::sort_rows(const Tables& tables, const Runtimes& runtimes) {
  const Table& given = *tables.find("given_frames");
  const Column& module_of = tables["locations"]["module_id"];
  layers_.resize(tables["locations"].rows(), Layer::Other);
  for (std::size_t row = 0; row < layers_.size(); ++row) {
    if (module_of.is_null(row)) {
      if (runtimes.generate_code()) layers_[row] = Layer::Interpreter;
      continue;
    }
    const auto module = static_cast<std::size_t>(module_of.ints[row]);
    if (module < runtimes.is_interpreter.size() && runtimes.is_interpreter[module]) layers_[row] = Layer::Interpreter;
    if (module_of.ints[row] == runtimes.python) layers_[row] = Layer::Imported;
  }
  for (std::size_t i = 0; i < given.rows(); ++i) {
    const auto row = static_cast<std::size_t>(given["location_id"].ints[i]);
    if (row >= layers_.size()) continue;
    const std::string_view file = given["file"].text(i);
    const std::string_view function = given["function"].text(i);
    if (layers_[row] == Layer::Imported) {
      if (!is_imported_python(file, function)) layers_[row] = Layer::Own;
    } else if (module_of.is_null(row) && runtimes.has_java && is_java_method(function)) {
      layers_[row] = is_imported_java(function) ? Layer::Imported : Layer::Own;
    } else if (module_of.is_null(row) && runtimes.has_javascript && is_javascript(file)) {
      layers_[row] = is_imported_javascript(file) ? Layer::Imported : Layer::Own;
    }
  }
}

void ManagedSites::join_versions(const Tables& tables) {
  const Table& given = *tables.find("given_frames");
  const Column& module_of = tables["locations"]["module_id"];
  std::map<std::tuple<std::string_view, std::string_view, std::int64_t>, std::uint32_t> first;
  for (std::size_t i = 0; i < given.rows(); ++i) {
    const auto row = static_cast<std::size_t>(given["location_id"].ints[i]);
    if (row >= module_of.size() || !module_of.is_null(row)) continue;
    if (same_as_.empty()) {
      same_as_.resize(module_of.size());
      std::iota(same_as_.begin(), same_as_.end(), 0u);
    }
    const std::int64_t line = given["line"].is_null(i) ? 0 : given["line"].ints[i];
    const auto [known, is_new] =
        first.try_emplace({given["function"].text(i), given["file"].text(i), line}, static_cast<std::uint32_t>(row));
    same_as_[row] = known->second;
  }
}

void ManagedSites::name_stacks(std::span<const std::uint32_t> caller_of, std::span<const std::uint32_t> row_of) {
  std::vector<std::uint32_t> nearest(caller_of.size());  // managed frame outwards of interpreter frames only; 0: none
  std::vector<std::uint32_t> own(caller_of.size());      // the user's own frame, outwards of anything; 0: none
  named_from_.resize(caller_of.size());
  for (std::uint32_t stack = 0; stack < caller_of.size(); ++stack) {
    named_from_[stack] = stack;
    if (stack == 0) continue;
    const Layer layer = layers_[row_of[stack]];
    const std::uint32_t caller = caller_of[stack];
    own[stack] = layer == Layer::Own ? stack : own[caller];
    nearest[stack] = layer >= Layer::Imported ? stack : layer == Layer::Interpreter ? nearest[caller] : 0;
    if (nearest[stack] != 0) named_from_[stack] = own[stack] != 0 ? own[stack] : nearest[stack];
  }
}

}  // namespace tare::core
