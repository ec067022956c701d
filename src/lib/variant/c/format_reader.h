// Reads a part of a value of tare/variant/c.h by a format string.
#pragma once

#include "lib/variant/c/formats.h"
#include "lib/variant/c/value.h"

namespace tare::inline TARE_ABI::variant::c {

// False, and nothing is set, where the part's type isn't the format's. The caller handles text after the format.
bool read_by_format(tare_variant& whole, const View& view, const char* format, Arguments& arguments);

// True if the format is valid, and matches the type of `part`, unless that is null.
bool fits(const View* part, const char* format);

// The contents of the variables before the read.
enum class Before : bool {
  Anything,
  Read,  // set by the same format before: freed
};

// As read_by_format, of a format that fits. A null `part` sets nulls and zeros.
void read_over(tare_variant& whole, const View* part, const char* format, Before before, Arguments& arguments);

}  // namespace tare::inline TARE_ABI::variant::c
