// The environment that the program was started with: getenv() may be the program's own, or not usable yet.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

namespace tare::recorder {

// The value of a variable. Null: it isn't set.
inline const char* variable(char** environment, const char* name) {
  const std::size_t length = std::strlen(name);
  for (char** entry = environment; *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, name, length) == 0 && (*entry)[length] == '=') return *entry + length + 1;
  }
  return nullptr;
}

}  // namespace tare::recorder
