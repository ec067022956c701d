// Layouts of a binary's types as Python sees them (python/tare/_core.pyi).
#pragma once

#include <nanobind/nanobind.h>

namespace tare::bindings {

void bind_layouts(nanobind::module_& module);

}  // namespace tare::bindings
