// Who holds blocks, as the program told: table `holders`.
#pragma once

#include <cstdint>
#include <map>

#include "core/columns/tables.h"
#include "trace/model/dictionary.h"

namespace tare::core {

// What is known of one block.
enum class Holding : std::uint8_t { Uncounted, One, Several };

// Blocks whose holders are counted, summed up by shape.
class Holders {
 public:
  // The program counts who holds a block of the shape, or has a second holder for it.
  void told(std::uint32_t shape, bool is_shared, Holding& holding);
  void ended(std::uint32_t shape, Holding holding);

  Table table(const trace::Dictionary& dictionary, bool is_sampled) const;

 private:
  struct Sums {
    std::uint64_t blocks = 0;
    std::uint64_t shared = 0;
    std::uint64_t live_blocks = 0;
    std::uint64_t live_shared = 0;
  };
  std::map<std::uint32_t, Sums> by_shape_;
};

}  // namespace tare::core
