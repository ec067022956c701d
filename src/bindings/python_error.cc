// The kinds of failure by name, from the one list in errors.def.
#include "bindings/python_error.h"

#include "bindings/os_string.h"

namespace tare::bindings {
namespace {

const char* name_of(ErrorKind kind) {
  switch (kind) {
#define TARE_ERROR(id, status, meaning) \
  case ErrorKind::id:                   \
    return #id;
#include "trace/base/errors.def"
  }
  return "Internal";
}

}  // namespace

void raise(const Error& error) {
  const nanobind::object type = nanobind::module_::import_("tare.errors").attr("TareError");
  const nanobind::object exception = type(name_of(error.kind), error.message);
  PyErr_SetObject(type.ptr(), exception.ptr());
  throw nanobind::python_error();
}

}  // namespace tare::bindings
