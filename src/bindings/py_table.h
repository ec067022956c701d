// A core table as Python holds it.
#pragma once

#include <memory>

#include "core/columns/tables.h"

namespace tare::bindings {

// Shares the table with the recording it comes from.
struct PyTable {
  std::shared_ptr<const core::Table> table;
};

}  // namespace tare::bindings
