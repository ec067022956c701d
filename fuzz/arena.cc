// Any sequence of acts on an Arena: blocks keep their bytes until they are taken back, don't overlap, and nothing is
// lost or counted wrong, also where the source of chunks has nothing more. The input's bytes choose the acts.
#include "tare/arena.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

void demand(bool holds) {
  if (!holds) std::abort();
}

struct Given {
  std::uint8_t* memory;
  std::size_t bytes;
  std::uint8_t pattern;
  bool holds() const {
    for (std::size_t i = 0; i < bytes; ++i) {
      if (memory[i] != pattern) return false;
    }
    return true;
  }
};

struct Source {
  std::size_t live_bytes = 0;
  std::size_t live_chunks = 0;
  bool is_empty = false;
};

tare::ArenaSource counted(Source& source) {
  return {.allocate = [](void* context, std::size_t bytes) noexcept -> void* {
            auto* from = static_cast<Source*>(context);
            if (from->is_empty) return nullptr;
            from->live_bytes += bytes;
            ++from->live_chunks;
            return std::malloc(bytes);
          },
          .free =
              [](void* context, void* memory, std::size_t bytes) noexcept {
                auto* from = static_cast<Source*>(context);
                from->live_bytes -= bytes;
                --from->live_chunks;
                std::free(memory);
              },
          .good_size = [](void*, std::size_t bytes) noexcept { return (bytes + 15) & ~std::size_t{15}; },
          .context = &source,
          .memory = tare::ArenaSource::Memory::Heap};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Source source;
  {
    tare::Arena arena({.first_chunk_bytes = 300, .largest_chunk_bytes = 4096, .source = counted(source)});
    std::vector<Given> given;
    struct Moment {
      tare::Arena::Mark mark;
      std::size_t blocks;
      std::size_t used_bytes;
    };
    std::vector<Moment> moments;
    for (std::size_t i = 0; i + 1 < size; i += 2) {
      const std::size_t number = data[i + 1];
      switch (data[i] % 8) {
        case 0:
        case 1:
        case 2: {
          const std::size_t bytes = data[i] % 8 == 2 ? number * number : number;
          const std::size_t alignment = std::size_t{1} << (data[i] / 8 % 9);
          auto* memory = static_cast<std::uint8_t*>(arena.allocate(bytes, alignment));
          if (memory == nullptr) {
            demand(source.is_empty);
            break;
          }
          demand(reinterpret_cast<std::uintptr_t>(memory) % alignment == 0);
          given.push_back({memory, bytes, static_cast<std::uint8_t>(i)});
          std::memset(memory, given.back().pattern, bytes);
          break;
        }
        case 3:
          moments.push_back({arena.mark(), given.size(), arena.use().used_bytes});
          break;
        case 4:
          if (moments.empty()) break;
          moments.resize(number % moments.size() + 1);
          arena.rewind(moments.back().mark);
          given.resize(moments.back().blocks);
          demand(arena.use().used_bytes == moments.back().used_bytes);
          break;
        case 5:
          arena.reset(number % 2 == 0 ? tare::ArenaReset::Drop : tare::ArenaReset::Keep);
          given.clear();
          moments.clear();
          demand(arena.use().used_bytes == 0 && source.live_chunks <= number % 2);
          break;
        case 6:
          source.is_empty = number % 4 == 0;
          break;
        default: {
          tare::Arena other(std::move(arena));
          arena.swap(other);
          break;
        }
      }
      for (const Given& block : given) demand(block.holds());
      const tare::ArenaUse use = arena.use();
      demand(use.committed_bytes == source.live_bytes && use.chunks == source.live_chunks);
      demand(use.committed_bytes == use.header_bytes + use.used_bytes + use.slack_bytes);
      if (given.size() > 500) break;
    }
  }
  demand(source.live_bytes == 0 && source.live_chunks == 0);
  return 0;
}
