// Reads the layouts of all types of a binary, unit by unit.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/binaries/debug_binary.h"
#include "core/types/type_layout.h"
#include "trace/base/result.h"

namespace tare::core {

struct ReadLayouts {
  std::uint64_t units = 0;
  std::uint64_t definitions = 0;  // of types, in all units
  std::uint64_t types = 0;        // distinct: handed to the sink
  std::uint64_t split_units = 0;  // with types in .dwo files, found or not
  std::vector<std::string> warnings;
};

// Structs, classes and unions, those inside functions too; Rust's variants only as fields of their enums. A type that
// many units define is one type if qualified name, size and fields are the same. If two differ under one name, both are
// listed. Unnamed types in type units of their own (-fdebug-types-section) are left out: their typedefs lie in other
// units.
//
// `sink` gets each as it is found. `progress` gets bytes of .debug_info, never more often than once a unit; may be
// empty. Corrupt where not one unit can be read; damage further in is a warning. Memory: the file's debug sections,
// decompressed, and 100 bytes a distinct type.
Result<ReadLayouts> read_layouts(DebugBinary& binary, const std::function<void(TypeLayout&&)>& sink,
                                 const std::function<void(std::uint64_t, std::uint64_t)>& progress);

}  // namespace tare::core
