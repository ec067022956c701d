// Where a random program's decisions come from.
#pragma once

#include <cstddef>

#include "tare/version.h"

namespace tare::inline TARE_ABI::gc::testing {

class GraphChoices {
 public:
  virtual ~GraphChoices() = default;
  virtual std::size_t pick(std::size_t n) = 0;  // below n; 0 once it is over
  virtual bool is_over() const = 0;
};

}  // namespace tare::inline TARE_ABI::gc::testing
