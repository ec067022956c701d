// Sorted by digest, equal contents lie together: see peak_contents.h.
#include "core/analysis/contents/peak_contents.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/analysis/contents/content_sums.h"

namespace tare::core {

Table PeakContents::table(const std::function<ShapeFacts(std::uint32_t shape)>& facts, std::uint32_t epoch) const {
  struct Sums {
    double blocks = 0;
    double copies = 0;
    double contents = 0;
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, Sums> sums;  // by shape and class
  std::vector<std::uint32_t> order;
  if (epoch_ == epoch) {
    order.resize(blocks_.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  }
  // Blocks of equal contents and different sizes aren't copies of one another: one may be about to grow.
  const auto key = [&](std::uint32_t i) {
    return std::pair(digest_of(blocks_[i]), facts(blocks_[i].shape).requested_bytes);
  };
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const std::uint64_t first = digest_of(blocks_[a]);
    const std::uint64_t second = digest_of(blocks_[b]);
    return first != second ? first < second : key(a).second < key(b).second;
  });
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && key(order[end]) == key(order[begin])) ++end;
    const auto equal = static_cast<double>(end - begin);
    for (; begin < end; ++begin) {
      const Block& block = blocks_[order[begin]];
      Sums& of = sums[{block.shape, block.high_and_class & 3}];
      ++of.blocks;
      if (equal > 1 && digest_of(block) != 0) {
        ++of.copies;
        of.contents += 1.0 / equal;
      }
    }
  }
  TableBuilder table("peak_contents");
  const auto size_id = table.column("size_id");
  const auto stack_id = table.column("stack_id");
  const auto requested_bytes = table.column("requested_bytes");
  const auto content_class = table.column("content_class", content_class_words());
  const auto blocks = table.column("blocks");
  const auto copies = table.column("copies");
  const auto contents = table.column("contents");
  table.reserve(sums.size());
  for (const auto& [of, sum] : sums) {
    const ShapeFacts shape = facts(of.first);
    table.add(size_id, std::int64_t{of.first});
    table.add(stack_id, std::int64_t{trace::index(shape.stack)});
    table.add(requested_bytes, to_column(shape.requested_bytes));
    table.add_code(content_class, static_cast<std::int32_t>(of.second));
    table.add(blocks, sum.blocks);
    table.add(copies, sum.copies);
    table.add(contents, sum.contents);
  }
  return table.take();
}

}  // namespace tare::core
