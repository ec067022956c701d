// Turns stacks into nodes of one tree and allocations into shapes, so that an event has 24 bytes for any stack.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/base/large_vector.h"
#include "trace/base/mix_hash.h"
#include "trace/model/dictionary.h"
#include "trace/model/event.h"
#include "trace/model/id_table.h"
#include "trace/model/ids.h"
#include "trace/model/process_info.h"

namespace tare::trace {

// How large a dictionary becomes. A program with ever new stacks or sizes would use up all memory. Beyond the limit,
// new stacks are cut to their known frames, and new shapes lose their stack. Of those the sizes are exact, until there
// are too many of them, too.
struct DictionaryCeiling {
  std::size_t stacks = 4 << 20;  // a compiler has one million
  std::size_t shapes = 2 << 20;  // a compiler has half a million
  std::size_t shapes_without_stack = 256 << 10;
};

// Adds to the Dictionary of its constructor. No other code may add stacks or shapes to that one meanwhile.
class Interner {
 public:
  explicit Interner(Dictionary& dictionary, const DictionaryCeiling& ceiling = {});

  // The node for `row` called from `caller`; kNoStack if it isn't known, and nothing more is kept.
  static constexpr StackId kNoStack{~0u};
  StackId stack(StackId caller, RowId row) {
    const Child first = first_children_[index(caller)];
    if (first.row == row && first.node != kEmptyStack) return first.node;
    const std::uint64_t hash = mix_hash(index(caller), index(row));
    const Edge& edge = edges_[hash & edge_mask_];
    if (edge.caller == caller && edge.row == row) return edge.node;
    return find_stack(hash, caller, row);
  }

  // A shape as four words in registers. Assembling it field by field in memory and copying it would stall for 12
  // cycles.
  using ShapeWords = std::array<std::uint64_t, 4>;
  static_assert(sizeof(Shape) == sizeof(ShapeWords));
  static ShapeWords words_of(const Shape& shape) { return std::bit_cast<ShapeWords>(shape); }
  static ShapeWords make_shape(StackId stack, std::uint64_t api, std::uint64_t align_log2, std::uint64_t is_map,
                               std::uint64_t requested_bytes, std::uint64_t usable_bytes, double weight) {
    return {index(stack) | api << 32 | align_log2 << 40 | is_map << 48, requested_bytes, usable_bytes,
            std::bit_cast<std::uint64_t>(weight)};
  }

  // Compares all words at once, because the differing word is unpredictable.
  static bool equal(const ShapeWords& a, const ShapeWords& b) {
    return ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3])) == 0;
  }
  static StackId stack_of(const ShapeWords& shape) { return StackId{static_cast<std::uint32_t>(shape[0])}; }

  bool is(ShapeId id, const ShapeWords& shape) const { return equal(words_of(dictionary_.shapes[index(id)]), shape); }

  // The cache of edges gets as large as the tree is worth, between events: short processes' trees have a hundred nodes.
  void fit() {
    if (dictionary_.stacks.size() > edges_.size() && edges_.size() < kEdges) widen();
  }

  // Shapes in two steps, so that a caller can let some cache misses overlap: hash, then prefetch, and later the id.
  static std::uint64_t hash(const ShapeWords& shape) { return mix_hash(shape[0] ^ shape[2] << 32, shape[1]); }
  void prefetch_slot(std::uint64_t hash) const { shape_table_.prefetch(hash); }
  void prefetch_shape(std::uint64_t hash) const {
    const std::uint32_t candidate = shape_table_.first_candidate(hash);
    if (candidate < dictionary_.shapes.size()) __builtin_prefetch(&dictionary_.shapes[candidate]);
  }
  ShapeId shape(const ShapeWords& shape, std::uint64_t hash) {
    if (dictionary_.shapes.size() >= ceiling_.shapes) [[unlikely]]
      return folded_shape(shape, hash);
    return find_or_add(shape, hash);
  }
  // One more event has a cut stack.
  void count_cut_stack() { ++folded_.cut_stacks; }
  const FoldedCounts& folded() const { return folded_; }

 private:
  // The child that a node got first stands beside it: most have no other, and a new stack's frames get neighbouring
  // ids, so that only further children cost a place in the table and a cache miss to find it (1.3 million nodes when
  // compiling C++).
  struct Child {
    RowId row{};
    StackId node = kEmptyStack;  // empty: no child
  };
  // Further children seen lately. Programs repeat some thousand of a million: these stay in the L2 cache, the table of
  // all doesn't.
  struct Edge {
    StackId caller{~0u};  // no node has this id
    RowId row{};
    StackId node{};
  };
  static constexpr std::size_t kEdges = 1 << 14;  // at most
  static constexpr std::size_t kFirstEdges = 1 << 8;
  void widen();

  ShapeId find_or_add(const ShapeWords& shape, std::uint64_t hash) {
    return ShapeId{shape_table_.find_or_make(
        hash, [&](std::uint32_t candidate) { return equal(words_of(dictionary_.shapes[candidate]), shape); },
        [&] {
          append(dictionary_.shapes, std::bit_cast<Shape>(shape));
          return static_cast<std::uint32_t>(dictionary_.shapes.size() - 1);
        })};
  }
  std::uint32_t find_shape(const ShapeWords& shape, std::uint64_t hash) const;
  ShapeId folded_shape(const ShapeWords& shape, std::uint64_t hash);
  StackId find_stack(std::uint64_t hash, StackId caller, RowId row);
  StackId add_stack(StackId caller, RowId row);

  Dictionary& dictionary_;
  DictionaryCeiling ceiling_;
  FoldedCounts folded_;
  LargeVector<Child> first_children_;  // by StackId
  std::vector<Edge> edges_;
  std::size_t edge_mask_ = kFirstEdges - 1;
  IdTable stack_table_;  // of children but first ones
  IdTable shape_table_;
};

}  // namespace tare::trace
