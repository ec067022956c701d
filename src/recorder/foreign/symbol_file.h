// The functions that an ELF file lists in its full symbol table, which isn't loaded, or else in its dynamic one.
#pragma once

#include <cstdint>

namespace tare::recorder {

struct FunctionSymbol {
  const char* name;  // valid during the visit
  std::uint64_t value;
  std::uint64_t bytes;
};

using VisitFunction = void (*)(void* context, const FunctionSymbol& function);

// False: the file can't be read or has no such table. Maps the file for the time of the call; allocates nothing. The
// address of a symbol isn't checked.
bool visit_functions(const char* path, VisitFunction visit, void* context);

// As above, of the file's bytes, which begin at a multiple of 8.
bool visit_functions(const std::uint8_t* file, std::uint64_t bytes, VisitFunction visit, void* context);

}  // namespace tare::recorder
