// Types that a piece of code has pointers to where it calls an allocator: one of them is likely what it allocates.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tare::core {

// A struct, class or union, by what tells it from others of its name.
struct PointedType {
  std::uint32_t functions_out =
      0;             // 0: of the innermost function at the address, 1: of that which it's inlined into...
  std::string name;  // without namespaces; of a type without name that of its typedef
  std::uint64_t size_bytes = 0;
  std::uint32_t line = 0;  // of its declaration; 0: unknown

  auto operator<=>(const PointedType&) const = default;
};

// found[i] is of addresses[i] (ascending, in the file's own terms, inside the call): what local variables point to
// whose block holds the address, and what the functions there return a pointer to; inlined functions and their callers
// alike. Empty where nothing is known. Damaged DWARF yields less, never more than a line a variable.
std::vector<std::vector<PointedType>> pointed_types(Dwarf* dwarf, std::span<const std::uint64_t> addresses);

}  // namespace tare::core
