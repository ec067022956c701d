// Table `sharing`: the owners of blocks as the program reported them.
#pragma once

#include <cstdint>
#include <map>

#include "core/columns/tables.h"
#include "trace/model/dictionary.h"

namespace tare::core {

// Owners of one block.
enum class Holding : std::uint8_t { Uncounted, One, Several };

// Blocks whose owners are counted, summed by shape.
class Sharing {
 public:
  // For a block of the shape whose owners the program counts now, or which has its second owner now.
  void set_holders(std::uint32_t shape, bool is_shared, Holding& holding);
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
