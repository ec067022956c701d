// Reads a part of a value of tare/variant/c.h by a format string.
#pragma once

#include "lib/variant/c/formats.h"
#include "lib/variant/c/value.h"

namespace tare::variant::c {

// False, and nothing is set, where the part's type isn't the format's. What may follow the format is the caller's.
bool read_by_format(tare_variant& whole, const View& view, const char* format, Arguments& arguments);

// Whether a format is one, and of the type of `part`, unless that is null.
bool fits(const View* part, const char* format);

// What the variables hold before they're read into.
enum class Before : bool {
  Anything,
  Read,  // what this same format has set there: it is freed
};

// As read_by_format, of a format that fits. A null `part` sets nulls and zeros.
void read_over(tare_variant& whole, const View* part, const char* format, Before before, Arguments& arguments);

}  // namespace tare::variant::c
