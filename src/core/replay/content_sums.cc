// See content_sums.h.
#include "core/replay/content_sums.h"

#include <algorithm>
#include <string>

#include "trace/mix_hash.h"

namespace tare::core {
namespace {

constexpr std::uint64_t kPage = 4096;

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

void ContentSums::ended(const Ending& ending) {
  last_ = ending;
  has_last_ = true;
  if (ending.unwritten_bytes == 0) return;  // only its digest is of interest
  Shape fresh{};
  fresh.shape = ending.shape;
  Shape& shape = at_or_new(shape_at_, shapes_, ending.shape, fresh);
  const std::uint64_t unwritten = std::min(ending.unwritten_bytes, ending.requested_bytes);
  const std::uint64_t mark = ending.requested_bytes - unwritten;
  const double bytes = static_cast<double>(unwritten) * ending.weight;
  if (shape.epoch != ending.epoch) {
    shape.epoch = ending.epoch;
    shape.unwritten_peak = 0;
  }
  if (ending.lived_at_peak) shape.unwritten_peak += bytes;
  shape.max_mark = std::max(shape.max_mark, mark);
  shape.partly_blocks += ending.weight;
  shape.unwritten_total += bytes;
  const std::uint64_t whole_pages = unwritten / kPage;
  shape.unwritten_pages += static_cast<double>(whole_pages) * ending.weight;
  shape.within[step_of(mark)] += ending.weight;
}

void ContentSums::repeated(std::uint64_t digest) {
  if (!has_last_) return;
  const trace::StackId stack = last_.stack;
  const std::uint32_t id = content_ids_.find_or_make(
      trace::mix_hash(digest, trace::index(stack)),
      [&](std::uint32_t known) { return contents_[known].digest == digest && contents_[known].stack == stack; },
      [&] {
        contents_.push_back({stack, last_.content_class, digest, 0});
        return static_cast<std::uint32_t>(contents_.size() - 1);
      });
  Content& content = contents_[id];
  content.requested_bytes = std::max(content.requested_bytes, last_.requested_bytes);
  content.times += last_.weight;
  content.bytes += static_cast<double>(last_.requested_bytes) * last_.weight;
  Recent& recent = at_or_new(recent_at_, recent_, trace::index(stack), Recent{});
  auto found = std::find(recent.begin(), recent.end(), digest);
  if (found != recent.end())
    content.near_times += last_.weight;
  else
    --found;
  std::move_backward(recent.begin(), found, found + 1);
  recent.front() = digest;
}

Table ContentSums::written_table(const std::function<ShapeFacts(std::uint32_t shape)>& facts,
                                 std::uint32_t epoch) const {
  TableBuilder table("written");
  const auto shape_id = table.column("shape_id", ColumnType::Int64);
  const auto stack_id = table.column("stack_id", ColumnType::Int64);
  const auto requested_bytes = table.column("requested_bytes", ColumnType::Int64);
  const auto ended_blocks = table.column("ended_blocks", ColumnType::Double);
  const auto partly_blocks = table.column("partly_blocks", ColumnType::Double);
  const auto max_high_water = table.column("max_high_water_bytes", ColumnType::Int64);
  const auto unwritten_peak = table.column("unwritten_peak_bytes", ColumnType::Double);
  const auto unwritten_total = table.column("unwritten_total_bytes", ColumnType::Double);
  const auto unwritten_pages = table.column("unwritten_pages", ColumnType::Double);
  std::vector<TableBuilder::ColumnId> within;
  for (const std::uint64_t limit : kLimits)
    within.push_back(table.column("within_" + std::to_string(limit), ColumnType::Double));
  within.push_back(table.column("within_more", ColumnType::Double));
  for (const Shape& shape : shapes_) {
    const ShapeFacts all = facts(shape.shape);
    const double whole_blocks = std::max(0.0, all.ended_blocks * all.weight - shape.partly_blocks);
    table.add(shape_id, std::int64_t{shape.shape});
    table.add(stack_id, std::int64_t{trace::index(all.stack)});
    table.add(requested_bytes, to_column(all.requested_bytes));
    table.add(ended_blocks, shape.partly_blocks + whole_blocks);
    table.add(partly_blocks, shape.partly_blocks);
    table.add(max_high_water, to_column(whole_blocks > 0 ? all.requested_bytes : shape.max_mark));
    table.add(unwritten_peak, shape.epoch == epoch ? shape.unwritten_peak : 0.0);
    table.add(unwritten_total, shape.unwritten_total);
    table.add(unwritten_pages, shape.unwritten_pages);
    std::array<double, kSteps> counts = shape.within;
    counts[step_of(all.requested_bytes)] += whole_blocks;
    for (std::size_t i = 0; i < kSteps; ++i) table.add(within[i], counts[i]);
  }
  return table.take();
}

Table ContentSums::recreated_table() const {
  TableBuilder table("recreated");
  const auto stack_id = table.column("stack_id", ColumnType::Int64);
  const auto digest = table.column("digest", ColumnType::Int64);
  const auto requested_bytes = table.column("requested_bytes", ColumnType::Int64);
  const auto content_class = table.column("content_class", content_class_words());
  const auto times = table.column("times", ColumnType::Double);
  const auto near_times = table.column("near_times", ColumnType::Double);
  const auto bytes = table.column("bytes", ColumnType::Double);
  for (const Content& content : contents_) {
    table.add(stack_id, std::int64_t{trace::index(content.stack)});
    table.add(digest, to_column(content.digest));
    table.add(requested_bytes, to_column(content.requested_bytes));
    table.add_code(content_class, static_cast<std::int32_t>(content.content_class));
    table.add(times, content.times);
    table.add(near_times, content.near_times);
    table.add(bytes, content.bytes);
  }
  return table.take();
}

}  // namespace tare::core
