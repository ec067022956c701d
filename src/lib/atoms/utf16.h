// UTF-16 to and from the UTF-8 of atoms: UTF-8, with lone surrogates in three bytes of their own (WTF-8).
#pragma once

#include <cstddef>
#include <string_view>

#include "tare/version.h"

namespace tare::inline TARE_ABI::utf16 {

// At most three bytes a unit.
inline constexpr std::size_t kMostBytesPerUnit = 3;

// Writes the text's bytes to `out`, which has room for kMostBytesPerUnit a unit, and returns how many.
std::size_t to_bytes(std::u16string_view text, char* out);

// Writes at most `capacity` units of the text, and returns how many it has. Each maximal part of a sequence that is
// neither UTF-8 nor a lone surrogate's three bytes becomes U+FFFD, as the Unicode standard (3.9) and the encoding
// standard of the web have it.
std::size_t from_bytes(std::string_view text, char16_t* out, std::size_t capacity);

}  // namespace tare::inline TARE_ABI::utf16
