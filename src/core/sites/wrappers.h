// Distinguishes allocation wrappers from their callers, by name.
#pragma once

#include <string>
#include <string_view>

namespace tare::core {

// `function` as the symbolizer gives it, with or without parameters. Empty names are no wrappers. The user's own are in
// the environment, TARE_WRAPPERS, as it is at the first call.
bool is_wrapper(std::string_view function);

// The same for a frame whose file is known: a function in a header of the C++ library without a namespace is a wrapper
// too. Debug information has such names for instances without a mangled name, such as `allocate` of
// std::allocator<(anonymous namespace)::Node>.
bool is_wrapper_frame(std::string_view function, std::string_view file);

// The name without return type, parameters, template arguments and ABI tags, as in wrappers.def.
std::string plain_name(std::string_view function);

}  // namespace tare::core
