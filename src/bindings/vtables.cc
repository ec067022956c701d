// Counts of a binary's tables of virtual functions as plain Python data.
#include "bindings/vtables.h"

#include <nanobind/stl/vector.h>

#include <filesystem>
#include <string>
#include <vector>

#include "bindings/os_string.h"
#include "bindings/python_error.h"
#include "core/binaries/vtables.h"
#include "core/symbols/debug_files.h"

namespace nb = nanobind;

namespace tare::bindings {
namespace {

Result<core::VtableCensus> count(const std::string& path, const std::vector<std::filesystem::path>& debug_dirs) {
  auto binary = core::ElfFile::open(path);
  if (!binary) return binary.error();
  trace::Module module;
  module.path = path;
  module.build_id = (*binary)->build_id();
  const core::DebugFiles files = core::find_debug_files(module, debug_dirs);
  return core::count_vtables(**binary, files.debug.get());
}

const char* word_for(core::VtableNames names) {
  switch (names) {
    case core::VtableNames::Symbols:
      return "symbols";
    case core::VtableNames::Exports:
      return "exports";
    default:
      return "nothing";
  }
}

nb::dict as_dict(const core::VtableGroup& group) {
  nb::dict made;
  made["count"] = group.count;
  made["bytes"] = group.bytes;
  made["relocations"] = group.relocations;
  return made;
}

nb::dict count_vtables(const std::string& path, const std::vector<std::string>& debug_dirs) {
  const std::vector<std::filesystem::path> dirs(debug_dirs.begin(), debug_dirs.end());
  auto counted = [&] {
    nb::gil_scoped_release released;
    return count(path, dirs);
  }();
  const core::VtableCensus census = value_or_raise(std::move(counted));
  nb::dict made;
  made["names"] = word_for(census.names);
  made["tables"] = as_dict(census.tables);
  made["table_tables"] = as_dict(census.table_tables);
  made["type_infos"] = as_dict(census.type_infos);
  made["type_names"] = as_dict(census.type_names);
  made["relative_tables"] = census.relative_tables;
  made["relocations"] = census.relocations;
  made["rela_bytes"] = census.sections.rela_bytes;
  made["relr_bytes"] = census.sections.relr_bytes;
  made["unread_relocation_bytes"] = census.sections.unread_bytes;
  nb::dict saving;
  saving["table_bytes"] = census.saving.table_bytes;
  saving["relocations"] = census.saving.relocations;
  saving["relocation_bytes"] = census.saving.relocation_bytes;
  made["relative_saving"] = saving;
  return made;
}

}  // namespace

void bind_vtables(nb::module_& module) {
  module.def("count_vtables", count_vtables, nb::arg("path"), nb::arg("debug_dirs"));
}

}  // namespace tare::bindings
