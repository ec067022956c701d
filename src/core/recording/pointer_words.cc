// Sums a shape's blocks at each snapshot, then applies the allocator's model: see pointer_words.h.
#include "core/recording/pointer_words.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

namespace tare::core {
namespace {

struct PointerSums {
  std::int64_t stack = 0;
  std::int64_t requested_bytes = 0;
  double blocks = 0;
  double starts = 0;
  double interiors = 0;
  std::int64_t most = 0;
};

}  // namespace

Table pointer_words_table(const Table& snapshot_blocks, const SizeModel* model) {
  const Column& moment = snapshot_blocks["snapshot"];
  const Column& shape = snapshot_blocks["size_id"];
  const Column& starts = snapshot_blocks["start_pointers"];
  const Column& interiors = snapshot_blocks["interior_pointers"];
  std::map<std::pair<std::int64_t, std::int64_t>, PointerSums> by_shape;
  for (std::size_t row = 0; row < snapshot_blocks.rows(); ++row) {
    if (starts.is_null(row) || interiors.is_null(row)) continue;
    PointerSums& sums = by_shape[{moment.ints[row], shape.ints[row]}];
    const double weight = snapshot_blocks["weight"].doubles[row];
    sums.stack = snapshot_blocks["stack_id"].ints[row];
    sums.requested_bytes = snapshot_blocks["requested_bytes"].ints[row];
    sums.blocks += weight;
    sums.starts += weight * static_cast<double>(starts.ints[row]);
    sums.interiors += weight * static_cast<double>(interiors.ints[row]);
    sums.most = std::max(sums.most, starts.ints[row] + interiors.ints[row]);
  }
  TableBuilder table("pointer_words");
  const auto int_column = [&](const char* name) { return table.column(name, ColumnType::Int64); };
  const auto double_column = [&](const char* name) { return table.column(name, ColumnType::Double); };
  const auto moment_id = int_column("snapshot");
  const auto size_id = int_column("size_id");
  const auto stack_id = int_column("stack_id");
  const auto requested = int_column("requested_bytes");
  const auto blocks = double_column("blocks");
  const auto words = double_column("words");
  const auto start_pointers = double_column("start_pointers");
  const auto interior_pointers = double_column("interior_pointers");
  const auto most = int_column("max_pointers");
  const auto fields = int_column("fields");
  const auto packed = int_column("packed_bytes");
  const auto packed_gross = int_column("packed_gross_bytes");
  table.reserve(by_shape.size());
  for (const auto& [key, sums] : by_shape) {
    const double mean = (sums.starts + sums.interiors) / sums.blocks;
    // In a damaged trace, a block may have more pointers than words.
    const std::int64_t room = sums.requested_bytes / 8;
    const std::int64_t pointers = std::min(room, pointer_fields(sums.requested_bytes, sums.most, mean));
    const std::int64_t smaller = packed_bytes(sums.requested_bytes, pointers);
    table.add(moment_id, key.first);
    table.add(size_id, key.second);
    table.add(stack_id, sums.stack);
    table.add(requested, sums.requested_bytes);
    table.add(blocks, sums.blocks);
    table.add(words, sums.blocks * static_cast<double>(room));
    table.add(start_pointers, sums.starts);
    table.add(interior_pointers, sums.interiors);
    table.add(most, sums.most);
    table.add(fields, pointers);
    table.add(packed, smaller);
    if (model != nullptr && smaller >= 0 && static_cast<std::size_t>(smaller) <= kLargestRequest) {
      const SizeClass taken = size_class(*model, static_cast<std::size_t>(smaller));
      table.add(packed_gross, static_cast<std::int64_t>(taken.slot_bytes));
    } else {
      table.add_null(packed_gross);
    }
  }
  return table.take();
}

}  // namespace tare::core
