// Sums over the contents of ended blocks: by shape how far they were written, by stack which contents repeated. Tables
// `written` and `recreated`.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "core/columns/tables.h"
#include "trace/base/large_vector.h"
#include "trace/model/content_digest.h"
#include "trace/model/id_table.h"
#include "trace/model/ids.h"

namespace tare::core {

// Display names of trace::ContentClass, by code: words of every `content_class` column.
std::vector<std::string> content_class_words();

class ContentSums {
 public:
  // A block of a shape that has ended: the number of its last bytes that were never written, and its contents if the
  // same contents were freed before.
  struct Ending {
    std::uint32_t shape;
    std::uint32_t unwritten_bytes;
    trace::StackId stack;
    trace::ContentClass content_class;
    bool lived_at_peak;   // of those seen so far, which is
    std::uint32_t epoch;  // ... the one of this number
    std::uint64_t requested_bytes;
    double weight;
    std::uint64_t digest;  // 0: none, or new
  };
  void ended(const Ending& ending);

  struct ShapeFacts {
    trace::StackId stack;
    std::uint64_t requested_bytes;
    double ended_blocks;
    double weight;
  };
  // `facts(shape)` are those of all blocks of the shape; `epoch` the number of the peak that stayed the greatest.
  // After settle().
  Table written_table(const std::function<ShapeFacts(std::uint32_t shape)>& facts, std::uint32_t epoch) const;
  Table recreated_table() const;
  // Counts the waiting blocks: a row is prefetched when a block arrives, and the block is counted a few blocks later.
  // Programs have up to a million shapes, and as many contents: each row would be a wait for memory.
  void settle();

 private:
  // Upper limits of the counted ranges of marks, in bytes. The last range has the larger marks.
  static constexpr std::uint64_t kLimits[] = {0, 16, 32, 48, 64, 128, 256, 512, 1024, 2048, 4096};
  static constexpr std::size_t kSteps = std::size(kLimits) + 1;
  static std::size_t step_of(std::uint64_t mark);
  static constexpr double kNarrow = 0.6;  // of the request

  // The blocks of one shape as long as all were written equally far, which most shapes' are: a quarter of a cache line.
  struct Shape {
    std::uint32_t unwritten_bytes = 0;  // with kUneven: index into uneven_
    std::uint32_t blocks = 0;
    std::uint32_t peak_blocks = 0;
    std::uint32_t epoch = 0;
  };
  static constexpr std::uint32_t kUneven = ~std::uint32_t{0};  // in place of the number of blocks
  struct Uneven {
    std::uint64_t max_mark = 0;
    std::uint64_t blocks = 0;
    std::uint64_t unwritten_peak = 0;
    std::uint64_t unwritten_total = 0;
    std::uint64_t whole_page_bytes = 0;  // unwritten, where no other bytes are on the page
    std::uint64_t narrow_blocks = 0;
    std::uint32_t epoch = 0;
    std::array<std::uint64_t, kSteps> within{};

    void add(std::uint64_t requested, std::uint64_t unwritten, std::uint64_t count, std::uint64_t count_at_peak);
  };
  struct alignas(64) Content {  // one line of the cache
    trace::StackId stack;
    trace::ContentClass content_class;
    std::uint64_t digest;
    std::uint64_t requested_bytes;
    double times = 0;
    double near_times = 0;
    double bytes = 0;
  };
  // A simulated cache of the last contents at a stack: different contents, newest first.
  using Recent = std::array<std::uint64_t, 8>;

  static std::uint64_t hash_of(const Ending& ending);
  void count(const Ending& ending);
  void count_unwritten(const Ending& ending);
  void count_again(const Ending& ending);
  static Uneven summed(const Shape& shape, std::uint64_t requested);

  trace::LargeVector<Shape> shapes_;  // by ShapeId
  std::vector<Uneven> uneven_;
  std::vector<std::uint32_t> recent_at_;  // by StackId: index into recent_, + 1; 0: none
  std::vector<Recent> recent_;
  trace::IdTable content_ids_;
  trace::LargeVector<Content> contents_;
  // Blocks that wait for their prefetched rows, in the order of arrival. After half of the wait, the slot of
  // content_ids_ has the index of the content's row, and this row is prefetched.
  static constexpr std::uint64_t kWaiting = 8;
  std::array<Ending, kWaiting> waiting_{};
  std::uint64_t received_ = 0;
};

}  // namespace tare::core
