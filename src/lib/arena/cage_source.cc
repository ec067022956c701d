// Chunks for arenas from a cage. Apart, so that arenas of malloc's blocks aren't linked with cages.
#include "tare/arena.h"
#include "tare/cage.h"

namespace tare::inline TARE_ABI {

ArenaSource cage_source(Cage& cage) noexcept {
  return {
      .allocate = [](void* context, std::size_t bytes) noexcept -> void* {
        const CageResult<PageRun> run = static_cast<Cage*>(context)->allocate(bytes);
        return run ? run.value().data : nullptr;
      },
      .free =
          [](void* context, void* memory, std::size_t bytes) noexcept {
            static_cast<Cage*>(context)->free({static_cast<std::byte*>(memory), bytes});
          },
      .good_size =
          [](void* context, std::size_t bytes) noexcept {
            const std::size_t page = static_cast<Cage*>(context)->page_bytes();
            return page == 0 ? bytes : (bytes + page - 1) / page * page;
          },
      .context = &cage,
  };
}

}  // namespace tare::inline TARE_ABI
