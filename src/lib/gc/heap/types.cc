#include <array>

#include "lib/gc/heap/types.h"
#include "lib/gc/threads/locks.h"
#include "lib/gc/threads/stop.h"
#include "lib/loader/loaded_object.h"

namespace tare::inline TARE_ABI::gc {

constinit std::uint32_t type_count = 1;
// Numbers are published to other threads through `index` or an object's header, after the entry was written.
constinit std::array<TypeInfo, kMostTypes> types_by_index{};

std::uint32_t register_type(const TypeInfo& info, std::atomic<std::uint32_t>& index) noexcept {
  // Before the lock: the loader's is taken, and a thread that has that may wait for this one.
  loaded_object::keep(reinterpret_cast<const void*>(info.trace));
  const Lock lock(locks().types);
  std::uint32_t number = index.load(std::memory_order_relaxed);
  if (number != 0) return number;
  if (type_count == kMostTypes) stop("more than 16,383 types of collected objects");
  number = type_count++;
  types_by_index[number] = info;
  index.store(number, std::memory_order_release);
  return number;
}

const TypeInfo& type_info(std::uint32_t index) noexcept { return types_by_index[index < kMostTypes ? index : 0]; }

}  // namespace tare::inline TARE_ABI::gc
