// See sharing.h.
#include "core/heavy_tables/sharing.h"

namespace tare::core {

void Sharing::set_holders(std::uint32_t shape, bool is_shared, Holding& holding) {
  Sums& sums = by_shape_[shape];
  if (holding == Holding::Uncounted) {
    ++sums.blocks;
    ++sums.live_blocks;
    holding = Holding::One;
  }
  if (is_shared && holding == Holding::One) {
    ++sums.shared;
    ++sums.live_shared;
    holding = Holding::Several;
  }
}

void Sharing::ended(std::uint32_t shape, Holding holding) {
  if (holding == Holding::Uncounted) return;
  Sums& sums = by_shape_[shape];
  --sums.live_blocks;
  if (holding == Holding::Several) --sums.live_shared;
}

Table Sharing::table(const trace::Dictionary& dictionary, bool is_sampled) const {
  TableBuilder table("sharing");
  const auto int_column = [&](const char* name) { return table.column(name); };
  const auto size_id = int_column("size_id");
  const auto stack_id = int_column("stack_id");
  const auto requested = int_column("requested_bytes");
  const auto weight = table.column("weight");
  const auto blocks = int_column("blocks");
  const auto shared = int_column("shared_blocks");
  const auto end_blocks = int_column("end_blocks");
  const auto end_shared = int_column("end_shared_blocks");
  for (const auto& [shape, sums] : by_shape_) {
    const trace::Shape& facts = dictionary.shapes[shape];
    table.add(size_id, std::int64_t{shape});
    table.add(stack_id, std::int64_t{trace::index(facts.stack)});
    table.add(requested, to_column(facts.requested_bytes));
    table.add(weight, is_sampled ? facts.weight : 1.0);
    table.add(blocks, to_column(sums.blocks));
    table.add(shared, to_column(sums.shared));
    table.add(end_blocks, to_column(sums.live_blocks));
    table.add(end_shared, to_column(sums.live_shared));
  }
  return table.take();
}

}  // namespace tare::core
