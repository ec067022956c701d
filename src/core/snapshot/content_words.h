// Contents that the recorder has stored about the program's blocks, read from outside: which of them were filled when
// they were made.
#pragma once

#include <cstdint>
#include <vector>

#include "core/process_memory/memory_source.h"
#include "trace/model/content_table.h"

namespace tare::core {

class ContentWords {
 public:
  // `table`: where the program has its ContentTable (SpoolHeader::content_table); 0: none, nothing is known. `memory`
  // must outlive the object.
  ContentWords(MemorySource& memory, std::uint64_t table) : memory_(memory), table_(table) {}

  // Of the block at `address`; calls mostly come in ascending order.
  trace::ContentOrigin origin_of(std::uint64_t address);

 private:
  // Words read at once: of 64 KiB of addresses, a few hundred small blocks.
  static constexpr std::uint64_t kWindowWords = 4096;

  MemorySource& memory_;
  std::uint64_t table_;
  std::uint64_t leaf_number_ = ~std::uint64_t{0};
  std::uint64_t leaf_ = 0;                    // its address
  std::uint64_t window_ = ~std::uint64_t{0};  // the number of the first address in it / kUnit
  std::vector<std::uint32_t> words_;
};

}  // namespace tare::core
