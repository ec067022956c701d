// tare._core.Recording and open().
#pragma once

#include <nanobind/nanobind.h>

namespace tare::bindings {

void bind_recording(nanobind::module_& module);

}  // namespace tare::bindings
