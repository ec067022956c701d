// Text of programs for SQL and terminals: paths, arguments and the program's own texts may have any bytes.
#pragma once

#include <string>
#include <string_view>

namespace tare::bindings {

// Bytes that aren't UTF-8 as Python's backslashreplace shows them ("\xff"), zero bytes left out: nothing that has one
// ends a column.
std::string readable(std::string_view text);

}  // namespace tare::bindings
