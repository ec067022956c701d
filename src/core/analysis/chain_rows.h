// Growth, summed up by the stack that grows and by how it does it: table `growth`.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "core/analysis/ledger.h"
#include "trace/model/ids.h"

namespace tare::core {

// State that a block inherits from the block that it grew out of. Not initialised: most blocks that end didn't.
struct ChainState {
  std::uint32_t row;          // of the step that made it
  GrowthKind kind;            // of that step
  double step_weight;         // of that step
  double predecessor_weight;  // of the block it took over from
};

// One step: a block of `to` bytes allocated at `stack` took over from one of `from` < `to` bytes.
struct ChainStep {
  trace::StackId stack;
  GrowthKind kind;
  Move move;
  std::uint64_t from;
  std::uint64_t to;
  double from_weight;
  double to_weight;
};

// Sums over the steps made at one stack, weights in.
struct ChainRow {
  trace::StackId stack;
  GrowthKind kind;
  double chains = 0;                 // that made their first step here
  double steps = 0;                  // a request larger than the block it took over from
  double slow_steps = 0;             // larger by less than a fifth
  double in_place_steps = 0;         // realloc that found room behind the block
  double copied_bytes = 0;           // old request of the steps that weren't in place
  double doubling_copied_bytes = 0;  // the same had capacity been the next power of two
  double requested_bytes = 0;        // all requests of the chains, first blocks included
  double rounded_4k_bytes = 0;       // the same in whole 4 KiB units, counted when they change
  double doubling_bytes = 0;         // the same had capacity been the next power of two, 4 KiB at least
  std::uint64_t max_requested_bytes = 0;
  double live = 0;  // blocks whose last step was here
  double live_at_peak = 0;
  std::uint32_t epoch = 0;
};

class ChainRows {
 public:
  // `before`: the state of the old block; null if that block wasn't in a chain.
  ChainState step(const ChainStep& step, const ChainState* before);

  // A block whose last step was at `row` begins or ends; `epoch` as for shapes (see ShapeSums).
  void add_live(std::uint32_t row, double blocks, std::uint32_t epoch) {
    ChainRow& r = rows_[row];
    if (r.epoch != epoch) {
      r.live_at_peak = r.live;
      r.epoch = epoch;
    }
    r.live += blocks;
  }
  void finish(std::uint32_t epoch) {
    for (std::uint32_t row = 0; row < rows_.size(); ++row) add_live(row, 0, epoch);
  }

  const std::vector<ChainRow>& rows() const { return rows_; }
  std::uint64_t memory_bytes() const;

 private:
  ChainRow& row_of(trace::StackId stack, GrowthKind kind);

  std::vector<ChainRow> rows_;
  std::array<std::vector<std::uint32_t>, kGrowthKinds> row_of_stack_;  // index + 1; 0: none
};

// Live blocks that grew out of others, by number, and the rows of their steps.
class GrowthChains {
 public:
  struct Block {
    std::uint32_t number;  // a plain word's index: the shape, or that of a thread's blocks (thread_book.h)
    ChainState state;
  };

  const Block& operator[](std::uint32_t number) const { return blocks_[number]; }
  const ChainRows& rows() const { return rows_; }
  ChainRows& rows() { return rows_; }

  // A block begins; `epoch` as for ChainRows.
  std::uint32_t add(const Block& block, std::uint32_t epoch) {
    rows_.add_live(block.state.row, block.state.step_weight, epoch);
    if (free_.empty()) {
      blocks_.push_back(block);
      return static_cast<std::uint32_t>(blocks_.size() - 1);
    }
    const std::uint32_t number = free_.back();
    free_.pop_back();
    blocks_[number] = block;
    return number;
  }
  // It ends: its number may be used again.
  Block take(std::uint32_t number, std::uint32_t epoch) {
    free_.push_back(number);
    const Block block = blocks_[number];
    rows_.add_live(block.state.row, -block.state.step_weight, epoch);
    return block;
  }
  std::uint64_t memory_bytes() const { return blocks_.capacity() * sizeof(Block) + rows_.memory_bytes(); }

 private:
  std::vector<Block> blocks_;
  std::vector<std::uint32_t> free_;
  ChainRows rows_;
};

}  // namespace tare::core
