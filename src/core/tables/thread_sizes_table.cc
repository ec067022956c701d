// Rows of each shape's threads, then those of inherited blocks.
#include "core/tables/thread_sizes_table.h"

#include <cstdint>
#include <optional>

namespace tare::core {
namespace {

using trace::index;

struct Blocks {
  std::uint64_t total = 0;
  std::uint64_t peak = 0;
  std::uint64_t end = 0;
  std::uint64_t at = 0;
};

class ThreadSizes {
 public:
  explicit ThreadSizes(bool has_at) : has_at_(has_at) {}

  void reserve(std::size_t rows) { table_.reserve(rows); }
  void put(std::size_t shape, trace::StackId stack, std::optional<std::int64_t> thread, double weight,
           const Blocks& blocks) {
    const auto weighted = [&](std::uint64_t count) { return weight * static_cast<double>(count); };
    table_.add(size_id_, static_cast<std::int64_t>(shape));
    table_.add(stack_id_, std::int64_t{index(stack)});
    table_.add(thread_, thread);
    table_.add(total_blocks_, weighted(blocks.total));
    table_.add(peak_blocks_, weighted(blocks.peak));
    table_.add(end_blocks_, weighted(blocks.end));
    if (has_at_) {
      table_.add(at_blocks_, weighted(blocks.at));
    } else {
      table_.add_null(at_blocks_);
    }
  }
  Table take() { return table_.take(); }

 private:
  bool has_at_;
  TableBuilder table_{"thread_sizes"};
  using Id = TableBuilder::ColumnId;
  Id size_id_ = table_.column("size_id");
  Id stack_id_ = table_.column("stack_id");
  Id thread_ = table_.column("thread");
  Id total_blocks_ = table_.column("total_blocks");
  Id peak_blocks_ = table_.column("peak_blocks");
  Id end_blocks_ = table_.column("end_blocks");
  Id at_blocks_ = table_.column("at_blocks");
};

std::uint32_t at_of(const ShapeBook& book, std::uint32_t shape) {
  return shape < book.live_at.size() ? book.live_at[shape] : 0;
}

}  // namespace

Table thread_sizes_table(const ReplayEngine& engine, const trace::Dictionary& dictionary,
                         const trace::ProcessInfo& info, const std::vector<trace::StackId>& stack_of) {
  const auto weight_of = [&](const trace::Shape& shape) { return info.sample_bytes != 0 ? shape.weight : 1.0; };
  const ThreadBook& threads = *engine.threads_of_shapes();
  ThreadSizes table(engine.has_requested_time());
  if (!threads.is_complete()) return table.take();

  const ShapeBook& book = engine.recorded();
  table.reserve(book.sums.size() + threads.further().size());
  std::vector<Blocks> firsts(book.sums.size());
  for (std::uint32_t shape = 0; shape < firsts.size(); ++shape) {
    std::uint64_t total = book.sums[shape].live;
    for (std::size_t age = 0; age < kAgeClasses; ++age) total += engine.ended(shape, age);
    firsts[shape] = {total, book.live_at_peak[shape], book.sums[shape].live, at_of(book, shape)};
  }
  for (const ThreadBook::Counts& counts : threads.further()) {
    Blocks& first = firsts[counts.shape];
    first.total -= counts.total;
    first.peak -= counts.live_at_peak;
    first.end -= counts.live;
    first.at -= counts.live_at;
  }
  for (std::uint32_t shape = 0; shape < firsts.size(); ++shape) {
    if (firsts[shape].total == 0) continue;
    const trace::Shape& facts = dictionary.shapes[shape];
    table.put(shape, facts.stack, threads.first_thread(shape), weight_of(facts), firsts[shape]);
  }
  for (const ThreadBook::Counts& counts : threads.further()) {
    const trace::Shape& facts = dictionary.shapes[counts.shape];
    table.put(counts.shape, facts.stack, counts.thread, weight_of(facts),
              {counts.total, counts.live_at_peak, counts.live, counts.live_at});
  }

  const ShapeBook& earlier = engine.inherited();
  for (std::uint32_t shape = 0; shape < earlier.sums.size(); ++shape) {
    if (engine.inherited_blocks()[shape] == 0) continue;
    const trace::Shape& facts = engine.inherited_dictionary().shapes[shape];
    table.put(dictionary.shapes.size() + shape, stack_of[index(facts.stack)], std::nullopt, weight_of(facts),
              {0, earlier.live_at_peak[shape], earlier.sums[shape].live, at_of(earlier, shape)});
  }
  return table.take();
}

}  // namespace tare::core
