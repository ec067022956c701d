// Objects that values may point to: one collected base for arrays, records, maps and functions.
#pragma once

#include <cstdint>

#include "tare/gc/object.h"
#include "tare/gc/visitor.h"

namespace script {

enum class CellKind : std::uint8_t { Array, Record, Map, WeakMap, Closure, Native, Box };

// Not virtual: the kind tells, and the collector traces and finalizes a cell as what it was made as.
class Cell : public tare::gc::GarbageCollected<Cell> {
 public:
  CellKind kind() const { return kind_; }
  void trace(tare::gc::Visitor&) const {}

 protected:
  explicit Cell(CellKind kind) : kind_(kind) {}
  ~Cell() = default;

 private:
  CellKind kind_;
};

}  // namespace script
