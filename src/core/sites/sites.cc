// Removes wrappers from the inner ends of stacks, then groups the rest.
#include "core/sites/sites.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "core/sites/wrappers.h"
#include "trace/base/mix_hash.h"

namespace tare::core {
namespace {

struct HashRows {
  std::size_t operator()(const std::vector<std::uint32_t>& rows) const {
    std::uint64_t hash = rows.size();
    for (std::uint32_t row : rows) hash = trace::mix_hash(hash, row);
    return hash;
  }
};

// Of a function without a name. `xmalloc` and its like have 40 to 100 bytes; a constructor of one type requests one
// size.
constexpr std::uint64_t kMostWrapperBytes = 128;
constexpr std::size_t kMostWrapperRows = 2;  // of calls of the allocator
constexpr std::size_t kLeastWrapperCallers = 4;
constexpr std::size_t kLeastWrapperSizes = 4;

std::vector<std::uint32_t> narrow(const Column& column) {
  std::vector<std::uint32_t> ids;
  ids.reserve(column.ints.size());
  for (std::int64_t id : column.ints) ids.push_back(static_cast<std::uint32_t>(id));
  return ids;
}

}  // namespace

SiteFinder::SiteFinder(const Tables& tables, std::uint32_t depth)
    : depth_(std::max(depth, 1u)),
      caller_of_(narrow(tables["stacks"]["caller_id"])),
      row_of_(narrow(tables["stacks"]["location_id"])),
      managed_(tables, caller_of_, row_of_) {
  std::vector<bool> named(caller_of_.size());
  for (const char* table : {"site_sizes", "growth", "mappings", "failed_requests"}) {
    for (const std::int64_t id : tables[table]["stack_id"].ints) named[static_cast<std::size_t>(id)] = true;
  }
  for (std::size_t id = 0; id < named.size(); ++id) {
    if (named[id]) stacks_.push_back(static_cast<std::uint32_t>(id));
  }
  inner_.reserve(stacks_.size());
  for (const std::uint32_t stack : stacks_) inner_.push_back(managed_.named_from(stack));
  const Table& shapes = tables["site_sizes"];
  for (std::size_t i = 0; i < shapes.rows(); ++i)
    sizes_.emplace_back(static_cast<std::uint32_t>(shapes["stack_id"].ints[i]), shapes["requested_bytes"].ints[i]);
  std::sort(sizes_.begin(), sizes_.end());
  sizes_.erase(std::unique(sizes_.begin(), sizes_.end()), sizes_.end());
  kinds_.resize(tables["locations"].rows(), Kind::Unknown);
}

std::vector<trace::RowId> SiteFinder::unnamed_rows() {
  judge_placed();
  std::vector<std::uint32_t> wanted;
  for (std::size_t i = 0; i < stacks_.size(); ++i) {
    std::uint32_t& at = inner_[i];
    while (at != 0 && kinds_[row_of_[at]] == Kind::Wrapper) at = caller_of_[at];
    if (at != 0 && kinds_[row_of_[at]] == Kind::Unknown) wanted.push_back(row_of_[at]);
  }
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  std::vector<trace::RowId> rows;
  rows.reserve(wanted.size());
  for (std::uint32_t row : wanted) rows.push_back(static_cast<trace::RowId>(row));
  return rows;
}

void SiteFinder::name(trace::RowId row, std::span<const std::string_view> functions) {
  const bool wrapper = !managed_.is_managed(trace::index(row)) && !functions.empty() &&
                       std::all_of(functions.begin(), functions.end(), is_wrapper);
  kinds_[trace::index(row)] = wrapper ? Kind::Wrapper : Kind::Caller;
}

void SiteFinder::place(trace::RowId row, NamelessFunction function, std::uint64_t bytes) {
  if (bytes > kMostWrapperBytes || managed_.is_managed(trace::index(row))) {
    kinds_[trace::index(row)] = Kind::Caller;
    return;
  }
  placed_[function].push_back(row);
}

void SiteFinder::judge_placed() {
  struct Seen {
    std::set<std::uint32_t> callers;
    std::set<std::int64_t> sizes;
  };
  std::unordered_map<std::uint32_t, Seen*> by_row;
  std::map<NamelessFunction, Seen> seen;
  for (const auto& [function, rows] : placed_) {
    for (const trace::RowId row : rows) by_row[trace::index(row)] = &seen[function];
  }
  for (std::size_t i = 0; i < stacks_.size() && !by_row.empty(); ++i) {
    const std::uint32_t at = inner_[i];
    const auto found = at != 0 ? by_row.find(row_of_[at]) : by_row.end();
    if (found == by_row.end()) continue;
    auto& [callers, sizes] = *found->second;
    if (callers.size() < kLeastWrapperCallers) callers.insert(row_of_[caller_of_[at]]);
    auto each = std::lower_bound(sizes_.begin(), sizes_.end(), std::pair(stacks_[i], std::int64_t{0}));
    for (; each != sizes_.end() && each->first == stacks_[i] && sizes.size() < kLeastWrapperSizes; ++each)
      sizes.insert(each->second);
  }
  for (const auto& [function, rows] : placed_) {
    const auto& [callers, sizes] = seen[function];
    const bool wraps =
        rows.size() <= kMostWrapperRows && callers.size() >= kLeastWrapperCallers && sizes.size() >= kLeastWrapperSizes;
    for (const trace::RowId row : rows) kinds_[trace::index(row)] = wraps ? Kind::Wrapper : Kind::Caller;
  }
  placed_.clear();
}

void SiteFinder::add_to(Tables& tables) const {
  TableBuilder sites("sites");
  const auto site_id = sites.column("site_id");
  const auto site_stack = sites.column("stack_id");
  const auto site_row = sites.column("site_location_id");  // null: the stack is empty
  TableBuilder stack_sites("stack_sites");
  const auto stack = stack_sites.column("stack_id");
  const auto stack_site = stack_sites.column("site_id");

  std::unordered_map<std::vector<std::uint32_t>, std::int64_t, HashRows> known;  // rows, innermost first
  std::vector<std::uint32_t> rows;
  for (std::size_t i = 0; i < stacks_.size(); ++i) {
    const std::uint32_t from = inner_[i] != 0 ? inner_[i] : stacks_[i];  // nothing but wrappers: better than no name
    rows.clear();
    for (std::uint32_t at = from; at != 0 && rows.size() < depth_; at = caller_of_[at])
      rows.push_back(managed_.representative(row_of_[at]));
    const auto [site, fresh] = known.try_emplace(rows, static_cast<std::int64_t>(known.size()));
    if (fresh) {
      sites.add(site_id, site->second);
      sites.add(site_stack, std::int64_t{from});
      if (rows.empty()) {
        sites.add_null(site_row);
      } else {
        sites.add(site_row, std::int64_t{rows.front()});
      }
    }
    stack_sites.add(stack, std::int64_t{stacks_[i]});
    stack_sites.add(stack_site, site->second);
  }
  tables.put(sites.take());
  tables.put(stack_sites.take());
}

}  // namespace tare::core
