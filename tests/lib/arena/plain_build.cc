// The headers of arenas and cages without exceptions and without RTTI: it's enough that this compiles.
#include "tare/arena.h"
#include "tare/arena_resource.h"
#include "tare/cage.h"

namespace {

[[maybe_unused]] void* use(std::size_t bytes) {
  tare::Arena arena;
  tare::ArenaResource resource(arena);
  return resource.allocate(bytes);
}

}  // namespace
