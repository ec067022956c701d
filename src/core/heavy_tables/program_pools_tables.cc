// The books of the program's pools as tables pools, pool_memory and pool_blocks.
#include "core/heavy_tables/program_pools.h"

namespace tare::core {
namespace {

using trace::index;

std::int64_t whole(std::uint64_t value) { return to_column(value); }
std::optional<std::int64_t> whole(std::optional<std::uint64_t> value) {
  if (!value) return std::nullopt;
  return to_column(*value);
}

}  // namespace

// Pieces of memory and blocks have the same columns, but for one of memory's own.
class ProgramPools::SpanTable {
 public:
  SpanTable(const char* name, const char* key) : table_(name), key_(table_.column(key)) {}

  void add(std::size_t id, const Span& span) {
    table_.add(key_, whole(id));
    table_.add(pool_, whole(std::uint64_t{span.pool}));
    table_.add(address_, whole(span.address));
    table_.add(bytes_, whole(span.bytes));
    table_.add(stack_, whole(index(span.stack)));
    table_.add(thread_, whole(span.thread));
    table_.add(birth_, whole(span.birth_ns));
    table_.add(death_, whole(span.death_ns));
  }
  TableBuilder& builder() { return table_; }

 private:
  TableBuilder::ColumnId int_column(const char* name) { return table_.column(name); }

  TableBuilder table_;
  TableBuilder::ColumnId key_;
  TableBuilder::ColumnId pool_ = int_column("pool_id");
  TableBuilder::ColumnId address_ = int_column("address");
  TableBuilder::ColumnId bytes_ = int_column("bytes");
  TableBuilder::ColumnId stack_ = int_column("stack_id");
  TableBuilder::ColumnId thread_ = int_column("thread");
  TableBuilder::ColumnId birth_ = int_column("allocated_ns");
  TableBuilder::ColumnId death_ = int_column("freed_ns");
};

Table ProgramPools::pools_table() const {
  TableBuilder table("pools");
  const auto id = table.column("pool_id");
  const auto name = table.column("name");
  const auto birth = table.column("created_ns");
  const auto death = table.column("destroyed_ns");
  const auto memory = table.column("memory_bytes");
  const auto used = table.column("used_bytes");
  const auto blocks = table.column("blocks");
  const auto peak_ns = table.column("peak_time_ns");
  const auto peak_memory = table.column("peak_memory_bytes");
  const auto peak_used = table.column("peak_used_bytes");
  const auto peak_blocks = table.column("peak_blocks");
  const auto total_blocks = table.column("total_blocks");
  const auto total_bytes = table.column("total_bytes");
  for (std::size_t i = 0; i < pools_.size(); ++i) {
    const Pool& pool = pools_[i];
    table.add(id, whole(i));
    if (pool.name) {
      table.add(name, std::string_view(dictionary_.names[index(*pool.name)]));
    } else {
      table.add_null(name);
    }
    table.add(birth, whole(pool.birth_ns));
    table.add(death, whole(pool.death_ns));
    table.add(memory, whole(pool.now.memory_bytes));
    table.add(used, whole(pool.now.used_bytes));
    table.add(blocks, whole(pool.now.blocks));
    table.add(peak_ns, whole(pool.peak_ns));
    table.add(peak_memory, whole(pool.peak.memory_bytes));
    table.add(peak_used, whole(pool.peak.used_bytes));
    table.add(peak_blocks, whole(pool.peak.blocks));
    table.add(total_blocks, whole(pool.total_blocks));
    table.add(total_bytes, whole(pool.total_bytes));
  }
  return table.take();
}

void ProgramPools::add_to(Tables& tables) const {
  tables.put(pools_table());
  SpanTable memory("pool_memory", "memory_id");
  const auto heap_block = memory.builder().column("heap_block_id");
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    memory.add(i, memory_[i]);
    memory.builder().add(heap_block, whole(memory_[i].heap_block));
  }
  tables.put(memory.builder().take());
  SpanTable blocks("pool_blocks", "pool_block_id");
  for (std::size_t i = 0; i < blocks_.size(); ++i) blocks.add(i, blocks_[i]);
  tables.put(blocks.builder().take());
}

}  // namespace tare::core
