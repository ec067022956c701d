// Rows of module "[python]" to given frames: see python_frames.h.
// SPDX-License-Identifier: Apache-2.0
#include "trace/spool/python_frames.h"

#include <cstring>
#include <unordered_map>

#include "trace/model/python_state.h"
#include "trace/spool/program_note.h"

namespace tare::trace {
namespace {

struct Function {
  std::string name;
  std::string file;
};

Function function_at(std::uint32_t offset, const NameSource& strings) {
  std::uint32_t head[3] = {};
  const std::string bytes = strings({offset, sizeof(head)});
  if (bytes.size() != sizeof(head)) return {};
  std::memcpy(head, bytes.data(), sizeof(head));
  if (head[1] > kMaxNameBytes || head[2] > kMaxNameBytes) return {};
  return {strings({offset + static_cast<std::uint32_t>(sizeof(head)), head[2]}), strings({head[0], head[1]})};
}

bool is_python(const Dictionary& dictionary, ModuleId module) {
  return index(module) < dictionary.modules.size() && dictionary.modules[index(module)].path == kPythonModule;
}

}  // namespace

void add_python_frames(Dictionary& dictionary, std::size_t first, const NameSource& strings) {
  std::unordered_map<std::uint32_t, Function> functions;
  ModuleId python = kNoModule;
  for (std::size_t row = first; row < dictionary.rows.size(); ++row) {
    const ModuleId module = row_module(dictionary.rows[row]);
    if (module == kNoModule) continue;
    if (module != python) {
      if (!is_python(dictionary, module)) continue;
      python = module;
    }
    const std::uint64_t address = row_address(dictionary.rows[row]);
    const auto offset = static_cast<std::uint32_t>(address >> kPythonLineBits);
    const auto [function, is_new] = functions.try_emplace(offset);
    if (is_new) function->second = function_at(offset, strings);
    const auto line = static_cast<std::uint32_t>(address & ((1u << kPythonLineBits) - 1));
    dictionary.given_frames.push_back({static_cast<RowId>(row), function->second.name, function->second.file, line});
  }
}

}  // namespace tare::trace
