// Types that code has pointers to where it calls an allocator. One of them is likely the allocated type.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tare::core {

// A struct, class or union, with the facts that distinguish it from others of its name.
struct PointedType {
  std::uint32_t functions_out =
      0;             // 0: of the innermost function at the address, 1: of that which it's inlined into...
  std::string name;  // without namespaces; of a type without name that of its typedef
  std::uint64_t size_bytes = 0;
  std::uint32_t line = 0;  // of its declaration; 0: unknown

  auto operator<=>(const PointedType&) const = default;
};

// found[i] belongs to addresses[i] (ascending, in the file's own terms, inside the call). It contains the targets of
// local variables whose scope contains the address, and the targets of the results of functions called there, for
// inlined functions and their callers. Empty where nothing is known. Damaged DWARF yields less, never more than a line
// a variable.
std::vector<std::vector<PointedType>> pointed_types(Dwarf* dwarf, std::span<const std::uint64_t> addresses);

}  // namespace tare::core
