// tare._core.StackTexts, FrameTree.
#pragma once

#include <nanobind/nanobind.h>

namespace tare::bindings {

void bind_stacks(nanobind::module_& module);

}  // namespace tare::bindings
