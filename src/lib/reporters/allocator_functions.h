// Functions of the allocator in use, by name and at run time: which one a program runs with is decided by LD_PRELOAD as
// often as by the linker.
#pragma once

#include <cstddef>
#include <cstring>

#include <dlfcn.h>

#include "tare/version.h"

namespace tare::inline TARE_ABI {

// Null: the program has no such function.
template <typename Function>
Function* find_function(const char* name) {
  void* const symbol = ::dlsym(RTLD_DEFAULT, name);
  Function* function = nullptr;
  static_assert(sizeof function == sizeof symbol);
  std::memcpy(&function, &symbol, sizeof symbol);
  return function;
}

// jemalloc's
using Mallctl = int(const char* name, void* old, std::size_t* old_bytes, void* now, std::size_t now_bytes);

}  // namespace tare::inline TARE_ABI
