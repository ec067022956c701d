// Doubles as decimal digits: the shortest that are read back as the same number, and a fixed number after the point.
#pragma once

#include <cstddef>

#include "tare/version.h"

namespace tare::inline TARE_ABI::text_details {

// Room that both need.
inline constexpr std::size_t kMostDecimalBytes = 48;

// Writes as std::to_chars(first, last, number) does and returns the end. Null, with nothing of use written, for the few
// numbers that it leaves to std::to_chars: infinities, NaNs, whole numbers of more than 15 digits.
char* write_shortest(char* to, double number) noexcept;

// As std::to_chars(first, last, number, std::chars_format::fixed, digits) does. Null for digits < 0 or > 9, numbers
// from 2^52 on and those below 2^-11 save 0.
char* write_fixed(char* to, double number, int digits) noexcept;

}  // namespace tare::inline TARE_ABI::text_details
