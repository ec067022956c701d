// Rows of recorded shapes, of inherited ones, and of pools.
#include "core/tables/site_sizes_table.h"

#include <algorithm>
#include <span>

#include "core/tables/pool_rows.h"

namespace tare::core {
namespace {

using trace::index;

class SiteSizes {
 public:
  SiteSizes(const ReplayEngine& engine, const trace::ProcessInfo& info, double ns_per_tick, Totals& totals)
      : engine_(engine),
        info_(info),
        ns_per_age_(ns_per_tick * (1 << kAgeShift)),
        end_age_((engine.last_stamp() - engine.first_stamp()) >> kAgeShift),
        totals_(totals) {}

  void add_recorded(const trace::Dictionary& dictionary) {
    const auto& book = engine_.recorded();
    for (std::uint32_t shape = 0; shape < book.sums.size(); ++shape) {
      std::uint64_t ended[kAgeClasses];
      std::uint64_t total = book.sums[shape].live;
      for (std::size_t age = 0; age < kAgeClasses; ++age) total += ended[age] = engine_.ended(shape, age);
      if (total == 0) continue;
      const PoolBooks::Sums* taken = engine_.pools() ? sums_of(engine_.pools()->recorded(), shape) : nullptr;
      Row row = heap_row(book, shape, dictionary.shapes[shape], total);
      row.id = shape;
      std::copy(std::begin(ended), std::end(ended), row.ended);
      row.age_sum = book.sums[shape].age_sum + book.sums[shape].live * end_age_;
      add(row, taken);
    }
  }

  // Shapes of the parent's dictionary get ids after the last of the child's own.
  void add_inherited(const trace::Dictionary& dictionary, const std::vector<trace::StackId>& stack_of,
                     std::size_t first_id) {
    const auto& book = engine_.inherited();
    for (std::uint32_t shape = 0; shape < book.sums.size(); ++shape) {
      const trace::Shape& facts = dictionary.shapes[shape];
      Row row = heap_row(book, shape, facts, 0);
      row.id = first_id + shape;
      row.stack = stack_of[index(facts.stack)];
      row.inherited = 1;
      add(row, engine_.pools() ? sums_of(engine_.pools()->inherited(), shape) : nullptr);
    }
    next_id_ = first_id + book.sums.size();
  }

  // After the others: pools' blocks, pools' unused memory, and the remainders of the blocks that contain their memory.
  void add_pools(const trace::Dictionary& dictionary) {
    if (engine_.pools()) {
      const auto& pools = engine_.pools()->recorded();
      std::vector<std::uint32_t> shapes;
      for (const auto& [shape, sums] : pools) {
        if (sums.live[index_of(PoolBooks::Moment::Total)] != 0) shapes.push_back(shape);
      }
      std::sort(shapes.begin(), shapes.end());
      for (const std::uint32_t shape : shapes) {
        const PoolBooks::Sums& sums = pools.at(shape);
        const trace::Shape& facts = dictionary.shapes[shape];
        Row row;
        row.id = shape;
        row.stack = facts.stack;
        row.api = sums.is_memory ? kPoolMemoryWord : kPoolBlockWord;
        row.requested_bytes = sums.is_memory ? 0 : facts.requested_bytes;
        row.usable_bytes = facts.requested_bytes;
        std::copy(std::begin(sums.live), std::end(sums.live), row.blocks.begin());
        std::copy(std::begin(sums.ended), std::end(sums.ended), row.ended);
        row.age_sum = sums.age_sum;
        add(row, &sums);
      }
    }
    for (Row& row : remainders_) {
      row.id = next_id_++;
      put(row, 0);
    }
  }

  Table take() { return table_.take(); }

 private:
  struct Row {
    std::size_t id = 0;
    trace::StackId stack{};
    std::int32_t api = 0;
    std::uint8_t align_log2 = 0;
    std::uint64_t requested_bytes = 0;
    std::uint64_t usable_bytes = 0;
    std::uint64_t header_bytes = 0;
    double weight = 1;
    MomentBlocks blocks{};
    std::int64_t inherited = 0;
    std::uint64_t ended[kAgeClasses] = {};
    std::uint64_t age_sum = 0;
  };

  static constexpr std::size_t index_of(PoolBooks::Moment moment) { return static_cast<std::size_t>(moment); }

  static const PoolBooks::Sums* sums_of(const PoolBooks::ByShape& pools, std::uint32_t shape) {
    const auto found = pools.find(shape);
    return found == pools.end() ? nullptr : &found->second;
  }

  Row heap_row(const ShapeBook& book, std::uint32_t shape, const trace::Shape& facts, std::uint64_t total) const {
    using enum PoolBooks::Moment;
    Row row;
    row.stack = facts.stack;
    row.api = static_cast<std::int32_t>(facts.api) & 31;
    row.align_log2 = facts.align_log2;
    row.requested_bytes = facts.requested_bytes;
    row.usable_bytes = facts.usable_bytes;
    row.header_bytes = header_bytes(info_.allocator, facts);
    row.weight = info_.sample_bytes != 0 ? facts.weight : 1.0;
    row.blocks[index_of(Peak)] = book.live_at_peak[shape];
    row.blocks[index_of(End)] = book.sums[shape].live;
    row.blocks[index_of(Total)] = total;
    row.blocks[index_of(At)] = shape < book.live_at.size() ? book.live_at[shape] : 0;
    return row;
  }

  // Blocks of which a part is counted elsewhere get rows of their own, later.
  void add(Row row, const PoolBooks::Sums* partly) {
    double elsewhere = 0;
    if (partly) {
      for (Remainder& left : remainders(partly->taken, row.requested_bytes, row.usable_bytes)) {
        if (row.inherited) left.blocks[index_of(PoolBooks::Moment::Total)] = 0;
        Row rest = row;
        rest.api = kPoolMemoryWord;
        rest.requested_bytes = left.requested_bytes;
        rest.usable_bytes = left.usable_bytes;
        rest.blocks = left.blocks;
        std::fill(std::begin(rest.ended), std::end(rest.ended), 0);
        rest.age_sum = 0;
        for (std::size_t moment = 0; moment < PoolBooks::kMoments; ++moment) {
          row.blocks[moment] -= std::min(row.blocks[moment], left.blocks[moment]);
        }
        remainders_.push_back(rest);
      }
      elsewhere = static_cast<double>(partly->taken_byte_ages) * ns_per_age_;
    }
    put(row, elsewhere);
  }

  void put(const Row& row, double byte_ns_elsewhere) {
    using enum PoolBooks::Moment;
    const auto blocks = [&](PoolBooks::Moment moment) { return row.blocks[index_of(moment)]; };
    table_.add(size_id_, static_cast<std::int64_t>(row.id));
    table_.add(stack_id_, std::int64_t{index(row.stack)});
    table_.add_code(api_, row.api);
    table_.add(align_bytes_, row.align_log2 == 0 ? std::int64_t{0} : std::int64_t{1} << (row.align_log2 & 63));
    table_.add(requested_bytes_, to_column(row.requested_bytes));
    table_.add(usable_bytes_, to_column(row.usable_bytes));
    table_.add(header_bytes_, to_column(row.header_bytes));
    table_.add(weight_, row.weight);
    table_.add(total_blocks_, to_column(blocks(Total)));
    table_.add(peak_blocks_, to_column(blocks(Peak)));
    table_.add(end_blocks_, to_column(blocks(End)));
    if (totals_.has_at) {
      table_.add(at_blocks_, to_column(blocks(At)));
    } else {
      table_.add_null(at_blocks_);
    }
    table_.add(inherited_, row.inherited);
    for (std::size_t age = 0; age < kAgeClasses; ++age) table_.add(freed_[age], to_column(row.ended[age]));
    const double lifetime = static_cast<double>(row.age_sum) * ns_per_age_;
    const auto gross = static_cast<double>(row.usable_bytes + row.header_bytes);
    table_.add(lifetime_ns_, lifetime);
    table_.add(byte_ns_, std::max(lifetime * gross - byte_ns_elsewhere, 0.0));
    const std::pair<ModeSums&, PoolBooks::Moment> sums[] = {
        {totals_.peak, Peak}, {totals_.end, End}, {totals_.total, Total}, {totals_.at, At}};
    for (const auto& [sum, moment] : sums) {
      sum.add(blocks(moment), row.requested_bytes, row.usable_bytes, row.header_bytes, row.weight);
    }
  }

  const ReplayEngine& engine_;
  const trace::ProcessInfo& info_;
  double ns_per_age_;
  std::uint64_t end_age_;
  Totals& totals_;
  std::vector<Row> remainders_;
  std::size_t next_id_ = 0;
  TableBuilder table_{"site_sizes"};
  using Id = TableBuilder::ColumnId;
  Id size_id_ = table_.column("size_id");
  Id stack_id_ = table_.column("stack_id");
  Id api_ = table_.column("api", api_words());
  Id align_bytes_ = table_.column("align_bytes");  // requested; 0: none
  Id requested_bytes_ = table_.column("requested_bytes");
  Id usable_bytes_ = table_.column("usable_bytes");
  Id header_bytes_ = table_.column("header_bytes");
  Id weight_ = table_.column("weight");
  Id total_blocks_ = table_.column("total_blocks");  // this and the following: of recorded blocks
  Id peak_blocks_ = table_.column("peak_blocks");
  Id end_blocks_ = table_.column("end_blocks");
  Id at_blocks_ = table_.column("at_blocks");  // null without a requested time
  Id inherited_ = table_.column("inherited");  // 1: the parent's at fork; in peak and end only
  Id freed_[kAgeClasses] = {table_.column("freed_within_16"), table_.column("freed_within_64"),
                            table_.column("freed_within_256"), table_.column("freed_within_65536"),
                            table_.column("freed_later")};
  Id lifetime_ns_ = table_.column("lifetime_ns");  // sum; blocks never freed live to the end
  Id byte_ns_ = table_.column("byte_ns");          // sum of gross x lifetime
};

}  // namespace

Table site_sizes_table(const ReplayEngine& engine, const trace::Dictionary& dictionary, const trace::ProcessInfo& info,
                       const std::vector<trace::StackId>& stack_of, double ns_per_tick, Totals& totals) {
  SiteSizes site_sizes(engine, info, ns_per_tick, totals);
  site_sizes.add_recorded(dictionary);
  site_sizes.add_inherited(engine.inherited_dictionary(), stack_of, dictionary.shapes.size());
  site_sizes.add_pools(dictionary);
  return site_sizes.take();
}

}  // namespace tare::core
