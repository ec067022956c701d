// A text as a JSON string.
#pragma once

#include <string>
#include <string_view>

#include "tare/version.h"

namespace tare::inline TARE_ABI {

// Appends it with its quotes; bytes that aren't UTF-8 become U+FFFD.
void add_json_string(std::string& out, std::string_view text);

}  // namespace tare::inline TARE_ABI
