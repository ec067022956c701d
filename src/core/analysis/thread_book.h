// Blocks of each shape by the thread that allocated them. Usually all blocks of a shape are one thread's: only those of
// further threads are counted here, and the first thread has the rest of the shape's own sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/analysis/block_word.h"
#include "trace/base/large_vector.h"
#include "trace/base/mix_hash.h"
#include "trace/model/id_table.h"

namespace tare::core {

class ThreadBook {
 public:
  struct Counts {
    std::uint64_t total = 0;
    std::uint32_t live = 0;
    std::uint32_t epoch = 0;  // as in ShapeSums
    std::uint32_t live_at_peak = 0;
    std::uint32_t live_at = 0;  // at the requested time
    std::uint32_t shape = 0;
    std::uint16_t thread = 0;

    void save_if_older(std::uint32_t peak_epoch) {
      if (epoch == peak_epoch) return;
      live_at_peak = live;
      epoch = peak_epoch;
    }
  };

  // `shapes`: all that the dictionary will ever have.
  explicit ThreadBook(std::size_t shapes) : first_threads_(shapes) {}

  // A block begins. Returns the number of its shape, or for a further thread of the shape a number behind those of all
  // shapes: the block's word has it. `peak_epoch`: as for shapes.
  std::uint32_t born(std::uint32_t shape, std::uint16_t thread, std::uint32_t peak_epoch) {
    FirstThread& first = first_threads_[shape];
    if (!first.is_known) first = {kNone, thread, true};
    if (first.thread == thread) return shape;
    const std::uint32_t place = place_of(first, shape, thread);
    if (place == kNone) return shape;
    Counts& counts = further_[place];
    counts.save_if_older(peak_epoch);
    ++counts.total;
    ++counts.live;
    return static_cast<std::uint32_t>(first_threads_.size()) + place;
  }
  // A block ends. Returns its shape.
  std::uint32_t died(std::uint32_t number, std::uint32_t peak_epoch) {
    if (number < first_threads_.size()) return number;
    Counts& counts = further_[number - first_threads_.size()];
    counts.save_if_older(peak_epoch);
    --counts.live;
    return counts.shape;
  }
  std::uint32_t shape_of(std::uint32_t number) const {
    return number < first_threads_.size() ? number : further_[number - first_threads_.size()].shape;
  }

  [[gnu::always_inline]] void prefetch_shape(std::size_t shape) const {
    if (shape < first_threads_.size()) __builtin_prefetch(&first_threads_[shape], 1);
  }
  [[gnu::always_inline]] void prefetch_end(std::uint32_t number) const {
    if (number >= first_threads_.size()) __builtin_prefetch(&further_[number - first_threads_.size()], 1);
  }

  void save_all(std::uint32_t peak_epoch) {
    for (Counts& counts : further_) counts.save_if_older(peak_epoch);
  }
  void save_requested_time() {
    for (Counts& counts : further_) counts.live_at = counts.live;
  }

  // Results. Of a shape with further threads, the first has what they leave.
  bool is_complete() const { return !is_full_; }
  std::uint16_t first_thread(std::uint32_t shape) const { return first_threads_[shape].thread; }
  const trace::LargeVector<Counts>& further() const { return further_; }
  std::uint64_t memory_bytes() const {
    return first_threads_.size() * sizeof(FirstThread) + further_.capacity() * sizeof(Counts);
  }

 private:
  static constexpr std::uint32_t kNone = ~0u;
  struct FirstThread {
    std::uint32_t second = kNone;  // the place of the second thread's counts
    std::uint16_t thread = 0;
    bool is_known = false;
  };

  // kNone: words of blocks have no room for another number.
  std::uint32_t place_of(FirstThread& first, std::uint32_t shape, std::uint16_t thread) {
    if (first.second != kNone && further_[first.second].thread == thread) return first.second;
    const auto is_it = [&](std::uint32_t place) {
      return further_[place].thread == thread && further_[place].shape == shape;
    };
    const std::uint64_t hash = trace::mix_hash(shape, thread);
    if (first_threads_.size() + further_.size() >= BlockWord::kIndexMask) [[unlikely]] {
      is_full_ = true;
      return by_shape_and_thread_.find(hash, is_it);
    }
    const std::uint32_t place = by_shape_and_thread_.find_or_make(hash, is_it, [&] {
      trace::make_room(further_, further_.size() + 1);
      Counts& counts = further_.emplace_back();
      counts.shape = shape;
      counts.thread = thread;
      return static_cast<std::uint32_t>(further_.size() - 1);
    });
    if (first.second == kNone) first.second = place;
    return place;
  }

  trace::LargeVector<FirstThread> first_threads_;  // by shape
  trace::LargeVector<Counts> further_;
  trace::IdTable by_shape_and_thread_;
  bool is_full_ = false;
};

}  // namespace tare::core
