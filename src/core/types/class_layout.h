// From a class as DWARF has it to what lies between its fields and what other orders would make of it.
#pragma once

#include "core/types/class_body.h"
#include "core/types/type_book.h"
#include "core/types/type_layout.h"

namespace tare::core {

// What types that hold this one must know.
TypeFacts facts_of(const ClassBody& body);

// Everything but the type's name, its fields' types, file and line.
TypeLayout layout_of(const ClassBody& body);

}  // namespace tare::core
