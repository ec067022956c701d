// A hash table of samples, sorted at the end: a recording has a hundred times as many shapes.
#include "core/recording/stacks/sample_sums.h"

#include <algorithm>
#include <cstddef>
#include <tuple>

#include "trace/base/mix_hash.h"
#include "trace/model/id_table.h"

namespace tare::core {
namespace {

struct Sample {
  std::int64_t stack, usable_bytes, thread;
  std::int64_t total_blocks = 0, total_bytes = 0, live_blocks = 0, live_bytes = 0, tare_bytes = 0;

  bool is_empty() const { return (total_blocks | live_blocks | tare_bytes) == 0; }
  auto order() const {
    return std::tuple(stack, usable_bytes, static_cast<std::uint64_t>(thread));  // -1 is the greatest
  }
};

class Samples {
 public:
  Sample& of(std::int64_t stack, std::int64_t usable_bytes, std::int64_t thread) {
    const std::uint64_t hash = trace::mix_hash(key_of(stack, usable_bytes), static_cast<std::uint64_t>(thread));
    const std::uint32_t place = table_.find_or_make(
        hash,
        [&](std::uint32_t at) {
          const Sample& sample = samples_[at];
          return sample.stack == stack && sample.usable_bytes == usable_bytes && sample.thread == thread;
        },
        [&] {
          samples_.push_back({stack, usable_bytes, thread});
          return static_cast<std::uint32_t>(samples_.size() - 1);
        });
    return samples_[place];
  }

  void add(std::int64_t stack, std::int64_t usable_bytes, std::int64_t thread, std::int64_t total, std::int64_t live,
           std::int64_t gross) {
    Sample& sample = of(stack, usable_bytes, thread);
    sample.total_blocks += total;
    sample.total_bytes += total * gross;
    sample.live_blocks += live;
    sample.live_bytes += live * gross;
  }

  // `thread`: of claims about a stack and size that no block has.
  void add_tare(std::span<const SampleTare> tare, std::int64_t thread) {
    // The samples of a stack and size: the first, and whether it is the only one.
    struct Pair {
      std::uint32_t first;
      bool is_only;
    };
    std::vector<Pair> pairs;
    trace::IdTable table;
    const auto hash_of = [](std::int64_t stack, std::int64_t usable) {
      return trace::mix_hash(key_of(stack, usable), 0);
    };
    const auto is_of = [&](std::int64_t stack, std::int64_t usable) {
      return [&, stack, usable](std::uint32_t at) {
        return samples_[pairs[at].first].stack == stack && samples_[pairs[at].first].usable_bytes == usable;
      };
    };
    for (std::uint32_t at = 0; at < samples_.size(); ++at) {
      const Sample& sample = samples_[at];
      const std::uint32_t place =
          table.find_or_make(hash_of(sample.stack, sample.usable_bytes), is_of(sample.stack, sample.usable_bytes), [&] {
            pairs.push_back({at, true});
            return static_cast<std::uint32_t>(pairs.size() - 1);
          });
      if (pairs[place].first != at) pairs[place].is_only = false;
    }
    for (const SampleTare& each : tare) {
      const std::uint32_t place =
          table.find(hash_of(each.stack, each.usable_bytes), is_of(each.stack, each.usable_bytes));
      std::int64_t of_claim = thread;
      if (place != trace::IdTable::kNone)
        of_claim = pairs[place].is_only ? samples_[pairs[place].first].thread : SampleSums::kUnknownThread;
      of(each.stack, each.usable_bytes, of_claim).tare_bytes += each.bytes;
    }
  }

  SampleSums take() {
    std::erase_if(samples_, [](const Sample& sample) { return sample.is_empty(); });
    std::ranges::sort(samples_, {}, &Sample::order);
    SampleSums sums;
    for (const Sample& sample : samples_) {
      sums.stack_ids.push_back(sample.stack);
      sums.usable_bytes.push_back(sample.usable_bytes);
      sums.threads.push_back(sample.thread);
      sums.total_blocks.push_back(sample.total_blocks);
      sums.total_bytes.push_back(sample.total_bytes);
      sums.live_blocks.push_back(sample.live_blocks);
      sums.live_bytes.push_back(sample.live_bytes);
      sums.tare_bytes.push_back(sample.tare_bytes);
    }
    return sums;
  }

 private:
  static std::uint64_t key_of(std::int64_t stack, std::int64_t usable_bytes) {
    return static_cast<std::uint64_t>(stack) << 32 ^ static_cast<std::uint64_t>(usable_bytes);
  }

  std::vector<Sample> samples_;
  trace::IdTable table_;
};

// The shapes whose blocks thread_sizes splits by thread: its rows add up to the numbers of the shape. Blocks of other
// shapes, such as those of pools, have no thread.
class Splits {
 public:
  Splits(const Table& site_sizes, const Table& thread_sizes, std::string_view live) {
    const std::vector<std::int64_t>& ids = site_sizes["size_id"].ints;
    const auto total = site_sizes["total_blocks"].ints.begin();
    const auto in_use = site_sizes[live].ints.begin();
    const auto end = site_sizes["end_blocks"].ints.begin();
    for (std::size_t row = 0; row < ids.size(); ++row) {
      const auto id = static_cast<std::size_t>(ids[row]);
      if (id >= left_.size()) left_.resize(id + 1);
      Left& left = left_[id];
      ++left.rows;
      left.row = static_cast<std::uint32_t>(row);
      left.total += total[static_cast<std::ptrdiff_t>(row)];
      left.live += in_use[static_cast<std::ptrdiff_t>(row)];
      left.end += end[static_cast<std::ptrdiff_t>(row)];
    }
    const std::vector<std::int64_t>& of_threads = thread_sizes["size_id"].ints;
    for (std::size_t row = 0; row < of_threads.size(); ++row) {
      const auto id = static_cast<std::size_t>(of_threads[row]);
      if (id >= left_.size()) continue;
      Left& left = left_[id];
      left.is_known = true;
      left.total -= static_cast<std::int64_t>(thread_sizes["total_blocks"].doubles[row]);
      left.live -= static_cast<std::int64_t>(thread_sizes[live].doubles[row]);
      left.end -= static_cast<std::int64_t>(thread_sizes["end_blocks"].doubles[row]);
    }
  }

  bool has(std::int64_t size_id) const {
    const auto id = static_cast<std::size_t>(size_id);
    if (id >= left_.size()) return false;
    const Left& left = left_[id];
    return left.is_known && left.rows == 1 && left.total == 0 && left.live == 0 && left.end == 0;
  }
  std::size_t row_of(std::int64_t size_id) const { return left_[static_cast<std::size_t>(size_id)].row; }

 private:
  struct Left {
    std::int64_t total = 0, live = 0, end = 0;
    std::uint32_t rows = 0, row = 0;
    bool is_known = false;
  };
  std::vector<Left> left_;  // by shape
};

bool all_stand_alone(const Table& site_sizes, std::string_view live) {
  return site_sizes[live].valid.empty() &&
         std::ranges::all_of(site_sizes["weight"].doubles, [](double weight) { return weight == 1.0; });
}

}  // namespace

std::optional<SampleSums> sums_by_sample(const Table& site_sizes, const SampleOptions& options,
                                         std::span<const SampleTare> tare) {
  if (!all_stand_alone(site_sizes, options.live)) return std::nullopt;
  const std::vector<std::int64_t>& ids = site_sizes["size_id"].ints;
  const std::vector<std::int64_t>& stacks = site_sizes["stack_id"].ints;
  const std::vector<std::int64_t>& usable = site_sizes["usable_bytes"].ints;
  const std::vector<std::int64_t>& headers = site_sizes["header_bytes"].ints;
  const std::vector<std::int64_t>& total = site_sizes["total_blocks"].ints;
  const std::vector<std::int64_t>& live = site_sizes[options.live].ints;
  const std::vector<std::int64_t>& inherited = site_sizes["inherited"].ints;
  Samples samples;
  const auto add = [&](std::size_t row, std::int64_t thread, std::int64_t total_blocks, std::int64_t live_blocks) {
    samples.add(stacks[row], options.by_size ? usable[row] : 0, thread, total_blocks, live_blocks,
                usable[row] + headers[row]);
  };
  std::optional<Splits> splits;
  if (options.thread_sizes != nullptr) {
    const Table& threads = *options.thread_sizes;
    splits.emplace(site_sizes, threads, options.live);
    const std::vector<std::int64_t>& of_threads = threads["size_id"].ints;
    const Column& thread = threads["thread"];
    const std::vector<double>& thread_total = threads["total_blocks"].doubles;
    const std::vector<double>& thread_live = threads[options.live].doubles;
    for (std::size_t row = 0; row < of_threads.size(); ++row) {
      if (!splits->has(of_threads[row])) continue;
      add(splits->row_of(of_threads[row]), thread.is_null(row) ? SampleSums::kUnknownThread : thread.ints[row],
          static_cast<std::int64_t>(thread_total[row]), static_cast<std::int64_t>(thread_live[row]));
    }
  }
  for (std::size_t row = 0; row < stacks.size(); ++row) {
    if (splits && splits->has(ids[row])) continue;
    const bool is_own = !splits && inherited[row] == 0;
    add(row, is_own ? options.thread : SampleSums::kUnknownThread, total[row], live[row]);
  }
  const bool is_of_one = !splits && std::ranges::all_of(inherited, [](std::int64_t is) { return is == 0; });
  if (!tare.empty()) samples.add_tare(tare, is_of_one ? options.thread : SampleSums::kUnknownThread);
  return samples.take();
}

}  // namespace tare::core
