// Failures of the core as `tare.errors.TareError`.
#pragma once

#include <utility>

#include "trace/base/result.h"

namespace tare::bindings {

// Sets the Python error and throws nanobind's exception for it. Needs the GIL.
[[noreturn]] void raise(const Error& error);

// The value, or the failure raised.
template <typename T>
T value_or_raise(Result<T> result) {
  if (!result) raise(result.error());
  return *std::move(result);
}

}  // namespace tare::bindings
