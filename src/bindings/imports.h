// tare._core.ImportWriter, ZstdFile.
#pragma once

#include <nanobind/nanobind.h>

namespace tare::bindings {

void bind_imports(nanobind::module_& module);

}  // namespace tare::bindings
