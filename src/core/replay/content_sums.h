// What ended blocks held, summed up: by shape how far they were written, by stack which contents came again. Tables
// `written` and `recreated`.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "core/replay/tables.h"
#include "trace/content_digest.h"
#include "trace/id_table.h"
#include "trace/ids.h"

namespace tare::core {

// Display names of trace::ContentClass, by code: words of every `content_class` column.
std::vector<std::string> content_class_words();

class ContentSums {
 public:
  // A block of a shape that is about to end, the last bytes of which were never written.
  struct Ending {
    std::uint32_t shape;
    trace::StackId stack;
    std::uint64_t requested_bytes;
    std::uint64_t unwritten_bytes;
    double weight;
    trace::ContentClass content_class;
    bool lived_at_peak;   // of those seen so far, which is
    std::uint32_t epoch;  // ... the one of this number
  };
  void ended(const Ending& ending);
  // The block of the last ended() held these bytes, which were freed before.
  void repeated(std::uint64_t digest);
  void forget_last() { has_last_ = false; }

  bool empty() const { return shapes_.empty() && contents_.empty(); }

  struct ShapeFacts {
    trace::StackId stack;
    std::uint64_t requested_bytes;
    double ended_blocks;
    double weight;
  };
  // `facts(shape)` are those of all blocks of the shape; `epoch` the number of the peak that stayed the greatest.
  Table written_table(const std::function<ShapeFacts(std::uint32_t shape)>& facts, std::uint32_t epoch) const;
  Table recreated_table() const;

 private:
  // Marks up to these many bytes are counted apart; the last count is all that is more.
  static constexpr std::uint64_t kLimits[] = {0, 16, 32, 48, 64, 128, 256, 512, 1024, 2048, 4096};
  static constexpr std::size_t kSteps = std::size(kLimits) + 1;
  static std::size_t step_of(std::uint64_t mark);

  struct Shape {
    std::uint32_t shape;
    std::uint32_t epoch = 0;
    std::uint64_t max_mark = 0;
    double partly_blocks = 0;
    double unwritten_peak = 0;
    double unwritten_total = 0;
    double unwritten_pages = 0;
    std::array<double, kSteps> within{};
  };
  struct Content {
    trace::StackId stack;
    trace::ContentClass content_class;
    std::uint64_t digest;
    std::uint64_t requested_bytes;
    double times = 0;
    double near_times = 0;
    double bytes = 0;
  };
  // What a cache of the last few at a stack would hold: its different contents, newest first.
  using Recent = std::array<std::uint64_t, 8>;

  std::vector<std::uint32_t> shape_at_;  // by ShapeId: index into shapes_, + 1; 0: none
  std::vector<Shape> shapes_;
  std::vector<std::uint32_t> recent_at_;  // by StackId: index into recent_, + 1; 0: none
  std::vector<Recent> recent_;
  trace::IdTable content_ids_;
  std::vector<Content> contents_;
  Ending last_{};
  bool has_last_ = false;
};

}  // namespace tare::core
