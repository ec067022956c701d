// Replaces a function of a loaded module: its first instructions become a jump to another function, and are performed
// elsewhere when that function calls the original.
//
// Only while the process has one thread. The code page is never writable and executable at once. Stacks are unwound as
// ever: the replacement is called as the function was, and calls the original as a function of its own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tare::recorder {

using AnyFunction6 = long (*)(long, long, long, long, long, long);

// Replaces the function at `function`, which has `bytes`, by `replacement`. `original` is set before the replacement
// may be called. Returns why it can't be done; null where it is done.
const char* replace_function(void* function, std::size_t bytes, AnyFunction6 replacement, AnyFunction6& original);

// Whether replace_function() would refuse for a reason that lies in the function; null: it wouldn't.
const char* refusal_of_function(const void* function, std::size_t bytes);

}  // namespace tare::recorder
