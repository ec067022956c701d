// Whether a stopped thread may call the loader: it must not be inside the loader or the allocator, whose locks it would
// wait for, or whose lists it would find half written.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <set>

#include "core/injection/loaded_objects.h"

namespace tare::core {

class SafePoint {
 public:
  SafePoint(pid_t pid, const LoadedObjects& objects);
  bool is_at(const user_regs_struct& registers) const;

 private:
  bool is_libc(const LoadedObject* object) const;

  pid_t pid_;
  const LoadedObjects& objects_;
  const LoadedObject* libc_;
  const LoadedObject* allocator_;  // another than the C library
  bool is_allocator_in_program_;
  std::set<std::uint64_t> forbidden_;  // functions of the C library that hold locks while they call others
};

}  // namespace tare::core
