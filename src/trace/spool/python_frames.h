// Names of Python's frames, from the rows and strings that the recorder publishes: see python_state.h.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "trace/model/dictionary.h"
#include "trace/spool/name_interner.h"

namespace tare::trace {

// Adds given frames for those of rows [first, ...) that are Python's. Rows whose names can't be read stay without.
void add_python_frames(Dictionary& dictionary, std::size_t first, const NameSource& strings);

}  // namespace tare::trace
