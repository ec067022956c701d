// Tables `stacks`, `rows`, `modules`, `given_frames` and `unwind_gaps`.
#include <string>
#include <utility>
#include <vector>

#include "core/tables/replay_tables.h"

namespace tare::core {
namespace {

using trace::index;

std::string hex(const std::vector<std::uint8_t>& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (std::uint8_t byte : bytes) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

}  // namespace

Table stacks_table(const trace::Dictionary& dictionary) {
  TableBuilder table("stacks");
  const auto stack_id = table.column("stack_id");
  const auto caller_id = table.column("caller_id");
  const auto location_id = table.column("location_id");
  const auto depth = table.column("depth");  // frames; 0 for stack 0, which is empty and has no row
  const std::size_t count = dictionary.stacks.size();
  std::vector<std::int64_t> ids(count), callers(count), rows(count), depths(count);
  for (std::size_t i = 0; i < count; ++i) {
    const trace::StackNode node = dictionary.stacks[i];
    const std::size_t caller = index(node.caller);
    ids[i] = static_cast<std::int64_t>(i);
    callers[i] = static_cast<std::int64_t>(caller);
    rows[i] = std::int64_t{index(node.row)};
    depths[i] = i == 0 ? 0 : caller < i ? depths[caller] + 1 : 1;
  }
  table.fill(stack_id, std::move(ids));
  table.fill(caller_id, std::move(callers));
  table.fill(location_id, std::move(rows));
  table.fill(depth, std::move(depths));
  return table.take();
}

Table rows_table(const trace::Dictionary& dictionary) {
  TableBuilder table("locations");
  const auto location_id = table.column("location_id");
  const auto module_id = table.column("module_id");          // null: in no module (generated code)
  const auto address = table.column("address");              // return address; look symbols up one byte before
  const auto module_offset = table.column("module_offset");  // in the file's own addresses
  table.reserve(dictionary.rows.size());
  for (std::size_t i = 0; i < dictionary.rows.size(); ++i) {
    const std::uint64_t bits = dictionary.rows[i];
    const std::uint32_t module = index(trace::row_module(bits));
    const auto at = static_cast<std::int64_t>(trace::row_address(bits));
    table.add(location_id, static_cast<std::int64_t>(i));
    table.add(address, at);
    if (module < dictionary.modules.size()) {
      table.add(module_id, std::int64_t{module});
      table.add(module_offset, at - static_cast<std::int64_t>(dictionary.modules[module].load_bias));
    } else {
      table.add_null(module_id);
      table.add_null(module_offset);
    }
  }
  return table.take();
}

Table modules_table(const trace::Dictionary& dictionary) {
  TableBuilder table("modules");
  const auto module_id = table.column("module_id");
  const auto path = table.column("path");
  const auto build_id = table.column("build_id");  // hexadecimal, empty if the file has none
  const auto load_bias = table.column("load_bias");
  const auto start = table.column("start_address");
  const auto end = table.column("end_address");
  const auto generation = table.column("generation");
  for (std::size_t i = 0; i < dictionary.modules.size(); ++i) {
    const trace::Module& module = dictionary.modules[i];
    table.add(module_id, static_cast<std::int64_t>(i));
    table.add(path, module.path);
    table.add(build_id, hex(module.build_id));
    table.add(load_bias, static_cast<std::int64_t>(module.load_bias));
    table.add(start, static_cast<std::int64_t>(module.start));
    table.add(end, static_cast<std::int64_t>(module.end));
    table.add(generation, std::int64_t{module.generation});
  }
  return table.take();
}

Table given_frames_table(const trace::Dictionary& dictionary) {
  TableBuilder table("given_frames");
  const auto location_id = table.column("location_id", ColumnType::Int64);
  const auto function = table.column("function", ColumnType::String);
  const auto file = table.column("file", ColumnType::String);
  const auto line = table.column("line", ColumnType::Int64);
  for (const trace::GivenFrame& frame : dictionary.given_frames) {
    table.add(location_id, std::int64_t{index(frame.row)});
    table.add(function, std::string_view(frame.function));
    table.add(file, std::string_view(frame.file));
    table.add(line, std::int64_t{frame.line});
  }
  return table.take();
}

Table unwind_gaps_table(const trace::Dictionary& dictionary, std::span<const trace::UnwindGapCount> gaps) {
  TableBuilder table("unwind_gaps");
  const auto module_id = table.column("module_id");
  const auto location_id = table.column("location_id");
  const auto stacks = table.column("stacks");
  for (const trace::UnwindGapCount& gap : gaps) {
    if (index(gap.row) >= dictionary.rows.size()) continue;  // its event was dropped
    const std::uint32_t module = index(trace::row_module(dictionary.rows[index(gap.row)]));
    const bool is_known = module < dictionary.modules.size();
    table.add(module_id, is_known ? std::optional<std::int64_t>(module) : std::nullopt);
    table.add(location_id, std::int64_t{index(gap.row)});
    table.add(stacks, static_cast<std::int64_t>(gap.stacks));
  }
  return table.take();
}

}  // namespace tare::core
