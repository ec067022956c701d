// tare._core's functions for values: GVariant, D-Bus messages, gvdb files.
#pragma once

#include <nanobind/nanobind.h>

namespace tare::bindings {

void bind_variant(nanobind::module_& module);

}  // namespace tare::bindings
