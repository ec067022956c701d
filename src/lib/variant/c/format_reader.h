// Reads a part of a value of tare/variant/c.h by a format string.
#pragma once

#include "lib/variant/c/formats.h"
#include "lib/variant/c/value.h"

namespace tare::variant::c {

// False, and nothing is set, where the part's type isn't the format's. What may follow the format is the caller's.
bool read_by_format(tare_variant& whole, const View& view, const char* format, Arguments& arguments);

}  // namespace tare::variant::c
