// Gives events the ids of a fresh dictionary that contains only the entries they need.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "trace/model/dictionary.h"
#include "trace/model/event.h"

namespace tare::core {

// A segment starts with a dictionary of its own: otherwise each would repeat that of the whole recording, which in the
// launcher's memory grew up to its ceiling.
class Renumbering {
 public:
  // Modules, rows and names keep their ids: spools and notes refer to those.
  explicit Renumbering(const trace::Dictionary& from);

  void renumber(trace::Event& event);
  trace::StackId stack(trace::StackId old);
  trace::Dictionary take() { return std::move(to_); }

 private:
  trace::ShapeId shape(trace::ShapeId old);

  const trace::Dictionary& from_;
  trace::Dictionary to_;
  std::vector<std::uint32_t> stacks_;  // by old id: the new one; 0: none yet, or the empty stack
  std::vector<std::uint32_t> shapes_;  // by old id: the new one + 1; 0: none yet
};

}  // namespace tare::core
