// A text as a JSON string.
#pragma once

#include <string>
#include <string_view>

namespace tare {

// Appends it with its quotes; bytes that aren't UTF-8 become U+FFFD.
void add_json_string(std::string& out, std::string_view text);

}  // namespace tare
