// CPython's allocators, which take their memory by mmap: wrapped by the interpreter's own table.
#pragma once

namespace tare::recorder {

// Before the interpreter starts, if the program has one loaded. Then no block is older than the wrapping.
void wrap_python_allocators();

}  // namespace tare::recorder
