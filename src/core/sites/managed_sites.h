// Which frame names a stack of a Python, JavaScript or Java program: the innermost line of the user's own code, where
// only the interpreter lies inside of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/columns/tables.h"

namespace tare::core {

class ManagedSites {
 public:
  // `caller_of` and `row_of` by stack.
  ManagedSites(const Tables& tables, std::span<const std::uint32_t> caller_of, std::span<const std::uint32_t> row_of);

  // The stack from which on `stack` is named; `stack` itself where no managed code is in it, or where other native code
  // than the interpreter's lies inside of it.
  std::uint32_t named_from(std::uint32_t stack) const { return named_from_.empty() ? stack : named_from_[stack]; }
  bool is_managed(std::uint32_t row) const { return !layers_.empty() && layers_[row] >= Layer::Imported; }
  // One of the rows with the same function of generated code. A compiler makes several versions of a function, and
  // their calls have addresses but no lines.
  std::uint32_t representative(std::uint32_t row) const { return same_as_.empty() ? row : same_as_[row]; }

 private:
  enum class Layer : std::uint8_t { Other, Interpreter, Imported, Own };

  struct Runtimes {
    std::vector<bool> is_interpreter;  // by module
    std::int64_t python = -1;          // the module of Python's frames
    bool has_javascript = false;
    bool has_java = false;
    bool generate_code() const { return has_javascript || has_java; }
  };
  static Runtimes runtimes(const Tables& tables);
  void sort_rows(const Tables& tables, const Runtimes& runtimes);
  void join_versions(const Tables& tables);
  void name_stacks(std::span<const std::uint32_t> caller_of, std::span<const std::uint32_t> row_of);

  std::vector<Layer> layers_;              // by row; empty: a recording without managed frames
  std::vector<std::uint32_t> named_from_;  // by stack
  std::vector<std::uint32_t> same_as_;     // by row
};

}  // namespace tare::core
