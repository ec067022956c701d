// Contents that the blocks of the peak had when they ended, or at the exit: finds blocks with equal contents. Table
// `peak_contents`.
#pragma once

#include <cstdint>
#include <functional>

#include "core/columns/tables.h"
#include "trace/base/large_vector.h"
#include "trace/model/content_digest.h"
#include "trace/model/ids.h"

namespace tare::core {

class PeakContents {
 public:
  // A block that lived at the greatest peak so far, which has this number. A greater one forgets all before it: they
  // ended before it.
  void add(std::uint32_t epoch, std::uint32_t shape, trace::ContentClass content_class, std::uint64_t short_digest) {
    if (epoch != epoch_) blocks_.clear();
    epoch_ = epoch;
    blocks_.push_back(
        {shape, static_cast<std::uint32_t>(short_digest),
         static_cast<std::uint32_t>(short_digest >> 32 << 2) | static_cast<std::uint32_t>(content_class)});
  }

  struct ShapeFacts {
    trace::StackId stack;
    std::uint64_t requested_bytes;
  };
  // `epoch`: the number of the peak that stayed the greatest.
  Table table(const std::function<ShapeFacts(std::uint32_t shape)>& facts, std::uint32_t epoch) const;

 private:
  struct Block {  // 12 bytes: there are as many as the heap had blocks at its peak
    std::uint32_t shape;
    std::uint32_t low;             // of the digest
    std::uint32_t high_and_class;  // three bits of the digest, above two of the class
  };
  static std::uint64_t digest_of(const Block& block) {
    return std::uint64_t{block.high_and_class >> 2} << 32 | block.low;
  }

  trace::LargeVector<Block> blocks_;
  std::uint32_t epoch_ = 0;
};

}  // namespace tare::core
