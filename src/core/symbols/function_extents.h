// Where functions without symbols begin and end: from the search table for unwinding, which stripped files keep.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/symbols/elf_file.h"

namespace tare::core {

// Of a function, or of a part that the compiler moved elsewhere. Addresses as in the file.
struct FunctionExtent {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;  // to the next function: the padding between them is included

  bool operator==(const FunctionExtent&) const = default;
};

class FunctionExtents {
 public:
  // Of .eh_frame_hdr in the form that linkers write. No extents if there is none, or if it is damaged.
  explicit FunctionExtents(const ElfFile& file);

  // Nothing: before the first function, or behind the last one's beginning.
  std::optional<FunctionExtent> find(std::uint64_t address) const;

 private:
  std::vector<std::uint64_t> begins_;  // ascending
};

}  // namespace tare::core
