// See content_sums.h.
#include "core/analysis/contents/content_sums.h"

#include <algorithm>
#include <string>
#include <utility>

#include "trace/base/mix_hash.h"

namespace tare::core {
namespace {

constexpr std::uint64_t kPage = 4096;

// Bytes on pages that only the unwritten end of a block lies on, on average over all places that a block may have in a
// page. 4,096 unwritten bytes cover a whole page in one of 256 places: while they counted as a page, doxygen's 24,604
// blocks of 4,097 bytes with hardly a byte in them were predicted to return 5.7 MiB, and `tare prove` returned 92.9
// MiB. glibc maps large blocks apart: these begin with 16 bytes of their own at a page.
std::uint64_t bytes_on_whole_pages(std::uint64_t requested, std::uint64_t unwritten) {
  constexpr std::uint64_t kPlace = 16;  // alignment of blocks
  constexpr std::uint64_t kBeside = kPage - kPlace;
  constexpr std::uint64_t kMappedApart = 128 << 10;
  if (requested >= kMappedApart) {
    const std::uint64_t touched = (kPlace + requested - unwritten + kPage - 1) / kPage * kPage;
    return kPlace + requested > touched ? kPlace + requested - touched : 0;
  }
  return unwritten > kBeside ? unwritten - kBeside : 0;
}

// The element for `key`, made if need be. Ids are bounded by the trace's dictionary.
template <typename Element>
Element& at_or_new(std::vector<std::uint32_t>& places, std::vector<Element>& elements, std::uint32_t key,
                   const Element& fresh) {
  if (key >= places.size()) places.resize(std::max<std::size_t>(key + std::size_t{1}, places.size() * 2));
  if (places[key] == 0) {
    elements.push_back(fresh);
    places[key] = static_cast<std::uint32_t>(elements.size());
  }
  return elements[places[key] - 1];
}

}  // namespace

std::vector<std::string> content_class_words() { return {"other", "text", "zeros", "none"}; }

std::size_t ContentSums::step_of(std::uint64_t mark) {
  return static_cast<std::size_t>(std::lower_bound(std::begin(kLimits), std::end(kLimits), mark) - kLimits);
}

void ContentSums::Uneven::add(std::uint64_t requested, std::uint64_t unwritten, std::uint64_t count,
                              std::uint64_t count_at_peak) {
  unwritten = std::min(unwritten, requested);
  const std::uint64_t mark = requested - unwritten;
  max_mark = std::max(max_mark, mark);
  blocks += count;
  unwritten_peak += unwritten * count_at_peak;
  unwritten_total += unwritten * count;
  whole_page_bytes += bytes_on_whole_pages(requested, unwritten) * count;
  if (static_cast<double>(mark) < kNarrow * static_cast<double>(requested)) narrow_blocks += count;
  within[step_of(mark)] += count;
}

ContentSums::Uneven ContentSums::summed(const Shape& shape, std::uint64_t requested) {
  Uneven sums;
  sums.epoch = shape.epoch;
  sums.add(requested, shape.unwritten_bytes, shape.blocks, shape.peak_blocks);
  return sums;
}

void ContentSums::ended(const Ending& ending) {
  Ending& place = waiting_[received_ % kWaiting];
  count(place);
  place = ending;
  if (ending.digest != 0) content_ids_.prefetch(hash_of(ending));
  if (ending.unwritten_bytes != 0) {
    if (ending.shape >= shapes_.size()) shapes_.resize(std::max<std::size_t>(ending.shape + 1, shapes_.size() * 2));
    __builtin_prefetch(&shapes_[ending.shape], 1);
  }
  const Ending& halfway = waiting_[(received_ + kWaiting / 2) % kWaiting];
  if (halfway.digest != 0) {
    const std::uint32_t id = content_ids_.first_candidate(hash_of(halfway));
    if (id < contents_.size()) __builtin_prefetch(&contents_[id], 1);
  }
  ++received_;
}

void ContentSums::settle() {
  for (std::uint64_t i = 0; i < kWaiting; ++i, ++received_) {
    count(waiting_[received_ % kWaiting]);
    waiting_[received_ % kWaiting] = {};
  }
}

void ContentSums::count(const Ending& ending) {
  if (ending.unwritten_bytes != 0) count_unwritten(ending);
  if (ending.digest != 0) count_again(ending);
}

std::uint64_t ContentSums::hash_of(const Ending& ending) {
  return trace::mix_hash(ending.digest, trace::index(ending.stack));
}

void ContentSums::count_unwritten(const Ending& ending) {
  Shape& shape = shapes_[ending.shape];
  if (shape.blocks == 0) shape = {ending.unwritten_bytes, 0, 0, ending.epoch};
  const bool is_even = shape.unwritten_bytes == ending.unwritten_bytes && shape.blocks < kUneven - 1;
  if (shape.blocks != kUneven && !is_even) {
    uneven_.push_back(summed(shape, ending.requested_bytes));
    shape = {static_cast<std::uint32_t>(uneven_.size() - 1), kUneven, 0, 0};
  }
  if (shape.blocks == kUneven) {
    Uneven& sums = uneven_[shape.unwritten_bytes];
    if (sums.epoch != ending.epoch) sums.unwritten_peak = 0;
    sums.epoch = ending.epoch;
    sums.add(ending.requested_bytes, ending.unwritten_bytes, 1, ending.lived_at_peak ? 1 : 0);
    return;
  }
  if (shape.epoch != ending.epoch) shape.peak_blocks = 0;
  shape.epoch = ending.epoch;
  shape.peak_blocks += ending.lived_at_peak ? 1 : 0;
  ++shape.blocks;
}

void ContentSums::count_again(const Ending& ending) {
  const auto [stack, digest] = std::pair(ending.stack, ending.digest);
  const std::uint32_t id = content_ids_.find_or_make(
      hash_of(ending),
      [&](std::uint32_t known) { return contents_[known].digest == digest && contents_[known].stack == stack; },
      [&] {
        contents_.push_back({stack, ending.content_class, digest, 0});
        return static_cast<std::uint32_t>(contents_.size() - 1);
      });
  Content& content = contents_[id];
  content.requested_bytes = std::max(content.requested_bytes, ending.requested_bytes);
  content.times += ending.weight;
  content.bytes += static_cast<double>(ending.requested_bytes) * ending.weight;
  Recent& recent = at_or_new(recent_at_, recent_, trace::index(stack), Recent{});
  auto found = std::find(recent.begin(), recent.end(), digest);
  if (found != recent.end())
    content.near_times += ending.weight;
  else
    --found;
  std::move_backward(recent.begin(), found, found + 1);
  recent.front() = digest;
}

Table ContentSums::written_table(const std::function<ShapeFacts(std::uint32_t shape)>& facts,
                                 std::uint32_t epoch) const {
  TableBuilder table("written");
  const auto size_id = table.column("size_id");
  const auto stack_id = table.column("stack_id");
  const auto requested_bytes = table.column("requested_bytes");
  const auto ended_blocks = table.column("ended_blocks");
  const auto partly_blocks = table.column("partly_blocks");
  const auto max_high_water = table.column("max_high_water_bytes");
  const auto unwritten_peak = table.column("unwritten_peak_bytes");
  const auto unwritten_total = table.column("unwritten_total_bytes");
  const auto unwritten_pages = table.column("unwritten_pages");
  const auto narrow_blocks = table.column("narrow_blocks");
  std::vector<TableBuilder::ColumnId> within;
  for (const std::uint64_t limit : kLimits) within.push_back(table.column("within_" + std::to_string(limit)));
  within.push_back(table.column("within_more"));
  table.reserve(static_cast<std::size_t>(
      std::count_if(shapes_.begin(), shapes_.end(), [](const Shape& shape) { return shape.blocks != 0; })));
  for (std::uint32_t id = 0; id < shapes_.size(); ++id) {
    const Shape& shape = shapes_[id];
    if (shape.blocks == 0) continue;
    const ShapeFacts all = facts(id);
    const Uneven sums = shape.blocks == kUneven ? uneven_[shape.unwritten_bytes] : summed(shape, all.requested_bytes);
    const auto weighed = [&](std::uint64_t count) { return static_cast<double>(count) * all.weight; };
    const double whole_blocks = std::max(0.0, all.ended_blocks * all.weight - weighed(sums.blocks));
    table.add(size_id, std::int64_t{id});
    table.add(stack_id, std::int64_t{trace::index(all.stack)});
    table.add(requested_bytes, to_column(all.requested_bytes));
    table.add(ended_blocks, weighed(sums.blocks) + whole_blocks);
    table.add(partly_blocks, weighed(sums.blocks));
    table.add(max_high_water, to_column(whole_blocks > 0 ? all.requested_bytes : sums.max_mark));
    table.add(unwritten_peak, sums.epoch == epoch ? weighed(sums.unwritten_peak) : 0.0);
    table.add(unwritten_total, weighed(sums.unwritten_total));
    table.add(unwritten_pages, weighed(sums.whole_page_bytes) / static_cast<double>(kPage));
    table.add(narrow_blocks, weighed(sums.narrow_blocks));
    const std::size_t last_step = step_of(all.requested_bytes);
    for (std::size_t i = 0; i < kSteps; ++i)
      table.add(within[i], weighed(sums.within[i]) + (i == last_step ? whole_blocks : 0.0));
  }
  return table.take();
}

Table ContentSums::recreated_table() const {
  TableBuilder table("recreated");
  const auto stack_id = table.column("stack_id");
  const auto digest = table.column("digest");
  const auto requested_bytes = table.column("requested_bytes");
  const auto content_class = table.column("content_class", content_class_words());
  const auto times = table.column("times");
  const auto near_times = table.column("near_times");
  const auto bytes = table.column("bytes");
  const auto number = table.column("contents");
  const auto max_times = table.column("max_times");
  const auto max_requested = table.column("max_requested_bytes");
  table.reserve(contents_.size());
  for (const Content& content : contents_) {
    table.add(stack_id, std::int64_t{trace::index(content.stack)});
    table.add(digest, to_column(content.digest));
    table.add(requested_bytes, to_column(content.requested_bytes));
    table.add_code(content_class, static_cast<std::int32_t>(content.content_class));
    table.add(times, content.times);
    table.add(near_times, content.near_times);
    table.add(bytes, content.bytes);
    table.add(number, 1.0);
    table.add(max_times, content.times);
    table.add(max_requested, to_column(content.requested_bytes));
  }
  return table.take();
}

}  // namespace tare::core
