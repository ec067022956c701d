// Watch files for Python.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace tare::bindings {

void bind_watch(nanobind::module_& module);

}  // namespace tare::bindings
