// Layouts: read at once without the GIL, then returned type by type; and sizes of collected objects.
#include "bindings/layouts.h"

#include <nanobind/stl/function.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "bindings/os_string.h"
#include "bindings/py_table.h"
#include "bindings/python_error.h"
#include "bindings/readable_text.h"
#include "core/symbols/cache_file.h"
#include "core/types/layout_cache.h"
#include "core/types/layout_table.h"
#include "tare/internal/gc/cell.h"

namespace nb = nanobind;

namespace tare::bindings {
namespace {

using core::Layouts;

const core::TypeLayout& type_or_raise(const Layouts& held, std::size_t type_id) {
  if (type_id >= held.types.size()) raise({ErrorKind::Internal, "there is no type " + std::to_string(type_id)});
  return held.types[type_id];
}

std::vector<nb::tuple> fields_of(const Layouts& held, std::size_t type_id) {
  std::vector<nb::tuple> fields;
  for (const core::Field& field : type_or_raise(held, type_id).fields) {
    fields.push_back(nb::make_tuple(nb::str(readable(field.name).c_str()), nb::str(readable(field.type).c_str()),
                                    core::word_of(field.kind), field.offset_bits, field.size_bits, field.align_bytes));
  }
  return fields;
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> holes_of(const Layouts& held, std::size_t type_id) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> holes;
  for (const core::Hole& hole : type_or_raise(held, type_id).holes)
    holes.emplace_back(hole.offset_bits, hole.size_bits);
  return holes;
}

Layouts read_layouts(std::string path, const std::vector<std::string>& debug_dirs,
                     const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  const std::vector<std::filesystem::path> dirs(debug_dirs.begin(), debug_dirs.end());
  const auto report = [&progress](std::uint64_t done, std::uint64_t total) {
    nb::gil_scoped_acquire held;
    progress(done, total);
  };
  auto layouts = [&] {
    nb::gil_scoped_release released;
    return core::load_layouts(path, dirs, core::default_cache_dir("types"), report);
  }();
  return value_or_raise(std::move(layouts));
}

// From size and alignment of objects to the sizes of their cells in tare::gc.
std::vector<std::uint64_t> cell_bytes(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& types) {
  std::vector<std::uint64_t> cells;
  for (const auto& [size, alignment] : types) {
    const std::uint64_t bytes = gc::cell::bytes_for(size, alignment);
    cells.push_back(bytes <= gc::cell::kMost ? gc::cell::bytes_of(gc::cell::class_of(bytes)) : bytes);
  }
  return cells;
}

PyTable table_of(const Layouts& held) { return {std::make_shared<const core::Table>(core::types_table(held.types))}; }

}  // namespace

void bind_layouts(nb::module_& module) {
  nb::class_<Layouts>(module, "Layouts")
      .def_prop_ro("table", table_of)
      .def_ro("dwarf_path", &Layouts::dwarf_path)
      .def_prop_ro("units", [](const Layouts& held) { return held.read.units; })
      .def_prop_ro("definitions", [](const Layouts& held) { return held.read.definitions; })
      .def_prop_ro("warnings", [](const Layouts& held) { return held.read.warnings; })
      .def("fields", fields_of, nb::arg("type_id"))
      .def("holes", holes_of, nb::arg("type_id"))
      .def(
          "order", [](const Layouts& held, std::size_t type_id) { return type_or_raise(held, type_id).order; },
          nb::arg("type_id"))
      .def(
          "narrow_order",
          [](const Layouts& held, std::size_t type_id) { return type_or_raise(held, type_id).narrow_order; },
          nb::arg("type_id"));
  module.def("cell_bytes", cell_bytes, nb::arg("types"));
  module.def("read_layouts", read_layouts, nb::arg("path"), nb::arg("debug_dirs"), nb::arg("progress"));
}

}  // namespace tare::bindings
