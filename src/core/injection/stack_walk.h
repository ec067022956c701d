// The stack of a stopped thread, walked by the tables of its objects in its own memory.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <cstdint>
#include <vector>

#include "core/injection/loaded_objects.h"

namespace tare::core {

struct WalkedFrame {
  std::uint64_t address = 0;             // of the instruction, or the return address
  std::uint64_t function = 0;            // where its table's entry begins; 0: it has none
  const LoadedObject* object = nullptr;  // null: generated code, or none
  bool interrupted = false;              // by a signal: what is called from here on is the handler
};

struct WalkedStack {
  std::vector<WalkedFrame> frames;  // the innermost first
  // The walk ended at the outermost frame, or in code without a table, such as generated code.
  bool is_followed = false;
};

WalkedStack walk_stack(pid_t pid, const LoadedObjects& objects, const user_regs_struct& registers);

}  // namespace tare::core
