// Typed ids: indices into a trace's dictionaries, so that a stack can't be passed where a row is meant.
#pragma once

#include <cstdint>

namespace tare::trace {

enum class RowId : std::uint32_t {};     // one return address seen (spool row table, trace row dictionary)
enum class StackId : std::uint32_t {};   // one node of the stack tree; 0 is the empty stack
enum class ShapeId : std::uint32_t {};   // one (stack, api, requested, usable, alignment, weight)
enum class ModuleId : std::uint32_t {};  // one loaded object; kNoModule where the address belongs to none
enum class ThreadId : std::uint32_t {};  // serial of a thread within its process image, from 0; not the kernel's tid

enum class NameId : std::uint32_t {};  // one path or pool name from the program

inline constexpr StackId kEmptyStack{0};
inline constexpr ModuleId kNoModule{0xffff};
inline constexpr ShapeId kNoShape{0xffffffffu};
inline constexpr NameId kNoName{0xffffffffu};

template <typename Id>
constexpr std::uint32_t index(Id id) {
  return static_cast<std::uint32_t>(id);
}

}  // namespace tare::trace
