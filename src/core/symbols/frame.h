// One frame of source code at an address: a function, or one that was inlined into it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tare::core {

enum class FrameKind : std::uint8_t {
  Physical,  // the function that the machine code belongs to: exactly one an address, the outermost
  Inlined,   // its code was copied into the next outer frame
};

// Empty strings and nullopt mean "not known for certain"; the caller then shows module + offset.
struct Frame {
  std::string linkage_name;  // mangled, without the compiler's clone suffix: the key to group, filter and diff by
  std::string function;      // demangled: for display only (demanglers differ in spelling)
  std::string clone;         // ".cold", ".isra.0", ".lto_priv.0.constprop.1"; empty for most
  std::string file;          // absolute if the debug information has the folder
  std::optional<std::uint32_t> line;  // of the call for outer frames, of the statement for the innermost
  FrameKind kind = FrameKind::Physical;

  bool operator==(const Frame&) const = default;
};

// A name from ELF symbols alone: no file, no line, no inlined frames. Same spelling as the physical Frame of the
// address.
struct FunctionName {
  std::string linkage_name;
  std::string function;
  std::string clone;

  bool operator==(const FunctionName&) const = default;
};

}  // namespace tare::core
