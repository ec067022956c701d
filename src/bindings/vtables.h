// tare._core.count_vtables().
#pragma once

#include <nanobind/nanobind.h>

namespace tare::bindings {

void bind_vtables(nanobind::module_& module);

}  // namespace tare::bindings
