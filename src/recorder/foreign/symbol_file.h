// The functions that an ELF file lists in its full symbol table, which isn't loaded, or else in its dynamic one.
#pragma once

#include <cstdint>

namespace tare::recorder {

struct FunctionSymbol {
  const char* name;  // valid during the visit
  std::uint64_t value;
  std::uint64_t bytes;
};

// False: the file can't be read or has no such table. Maps the file for the time of the call; allocates nothing.
bool visit_functions(const char* path, void (*visit)(void* context, const FunctionSymbol& function), void* context);

}  // namespace tare::recorder
