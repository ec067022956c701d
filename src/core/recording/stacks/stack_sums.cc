// One pass over the table's columns; lifetimes, which are fractions, are added up by size first.
#include "core/recording/stacks/stack_sums.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace tare::core {
namespace {

constexpr __int128 kLongest = 9'000'000'000'000'000'000;  // ns
constexpr double kMostSummed = 1e30;                      // of one size

// Places of the stacks among those that occur, ascending.
class Places {
 public:
  explicit Places(const std::vector<std::int64_t>& stacks) {
    for (const std::int64_t stack : stacks) {
      const auto at = static_cast<std::size_t>(stack);
      if (at >= place_of_.size()) place_of_.resize(at + 1);
      place_of_[at] = 1;
    }
    for (std::size_t stack = 0; stack < place_of_.size(); ++stack) {
      if (place_of_[stack] == 0) continue;
      place_of_[stack] = static_cast<std::uint32_t>(ids.size());
      ids.push_back(static_cast<std::int64_t>(stack));
    }
  }
  std::size_t operator[](std::int64_t stack) const { return place_of_[static_cast<std::size_t>(stack)]; }

  std::vector<std::int64_t> ids;

 private:
  std::vector<std::uint32_t> place_of_;  // by stack
};

struct Lifetime {
  std::uint32_t place;
  std::int64_t usable_bytes;
  double ns;
};

std::vector<std::int64_t> lifetimes(const Table& table, const Places& places) {
  const std::vector<std::int64_t>& stacks = table["stack_id"].ints;
  const std::vector<std::int64_t>& usable = table["usable_bytes"].ints;
  const std::vector<double>& lifetime_ns = table["lifetime_ns"].doubles;
  std::vector<Lifetime> all;
  all.reserve(stacks.size());
  for (std::size_t row = 0; row < stacks.size(); ++row)
    all.push_back({static_cast<std::uint32_t>(places[stacks[row]]), usable[row], lifetime_ns[row]});
  const auto key = [](const Lifetime& each) { return std::pair(each.place, each.usable_bytes); };
  std::ranges::stable_sort(all, {}, key);
  std::vector<__int128> sums(places.ids.size());
  for (std::size_t row = 0; row < all.size();) {
    const std::size_t first = row;
    double sum = 0;
    for (; row < all.size() && key(all[row]) == key(all[first]); ++row) sum += all[row].ns;
    sums[all[first].place] += static_cast<__int128>(std::nearbyint(std::min(sum, kMostSummed)));
  }
  std::vector<std::int64_t> whole;
  whole.reserve(sums.size());
  for (const __int128 sum : sums) whole.push_back(static_cast<std::int64_t>(std::min(sum, kLongest)));
  return whole;
}

}  // namespace

std::optional<StackSums> sums_by_stack(const Table& site_sizes, std::string_view live, bool with_lifetimes) {
  const Column& in_use = site_sizes[live];
  const std::vector<double>& weights = site_sizes["weight"].doubles;
  if (!in_use.valid.empty() || !std::ranges::all_of(weights, [](double weight) { return weight == 1.0; }))
    return std::nullopt;
  const std::vector<std::int64_t>& stacks = site_sizes["stack_id"].ints;
  const std::vector<std::int64_t>& usable = site_sizes["usable_bytes"].ints;
  const std::vector<std::int64_t>& headers = site_sizes["header_bytes"].ints;
  Places places(stacks);
  StackSums sums;
  const auto add_up = [&](const std::vector<std::int64_t>& blocks, std::vector<std::int64_t>& count,
                          std::vector<std::int64_t>& bytes) {
    count.resize(places.ids.size());
    bytes.resize(places.ids.size());
    for (std::size_t row = 0; row < stacks.size(); ++row) {
      const std::size_t place = places[stacks[row]];
      count[place] += blocks[row];
      bytes[place] += blocks[row] * (usable[row] + headers[row]);
    }
  };
  add_up(site_sizes["total_blocks"].ints, sums.total_blocks, sums.total_bytes);
  add_up(in_use.ints, sums.live_blocks, sums.live_bytes);
  add_up(site_sizes["end_blocks"].ints, sums.end_blocks, sums.end_bytes);
  if (with_lifetimes) sums.lifetimes_ns = lifetimes(site_sizes, places);
  sums.stack_ids = std::move(places.ids);
  return sums;
}

}  // namespace tare::core
