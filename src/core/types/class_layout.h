// From a class as DWARF has it to its gaps and to the results of other orders.
#pragma once

#include "core/types/class_body.h"
#include "core/types/type_book.h"
#include "core/types/type_layout.h"

namespace tare::core {

// Facts for types that contain this one.
TypeFacts facts_of(const ClassBody& body);

// Everything but the type's name, its fields' types, file and line.
TypeLayout layout_of(const ClassBody& body);

}  // namespace tare::core
