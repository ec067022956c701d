// Finding the modules, rows and stacks that two dictionaries share.
#include "core/analysis/dictionary_union.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace tare::core {
namespace {

using trace::index;

bool same(const trace::Module& a, const trace::Module& b) {
  return a.load_bias == b.load_bias && a.start == b.start && a.end == b.end && a.path == b.path &&
         a.build_id == b.build_id;
}

std::uint64_t key(trace::StackNode node) { return std::uint64_t{index(node.caller)} << 32 | index(node.row); }

// Which stacks of `dictionary` the shapes need, with all their callers, and which rows those have.
struct Needed {
  Needed(const trace::Dictionary& dictionary, std::span<const trace::Shape> shapes)
      : stacks(dictionary.stacks.size()), rows(dictionary.rows.size()), modules(dictionary.modules.size()) {
    for (const trace::Shape& shape : shapes) stacks[index(shape.stack)] = true;
    for (std::size_t stack = stacks.size(); stack-- > 1;) {
      if (!stacks[stack]) continue;
      const trace::StackNode node = dictionary.stacks[stack];
      stacks[index(node.caller)] = true;
      rows[index(node.row)] = true;
      const std::uint32_t module = index(trace::row_module(dictionary.rows[index(node.row)]));
      if (module < modules.size()) modules[module] = true;
    }
  }
  std::vector<bool> stacks;
  std::vector<bool> rows;
  std::vector<bool> modules;
};

}  // namespace

DictionaryUnion unite(const trace::Dictionary& own, const trace::Dictionary& other) {
  return unite(own, other, other.shapes);
}

DictionaryUnion unite(const trace::Dictionary& own, const trace::Dictionary& other,
                      std::span<const trace::Shape> shapes) {
  DictionaryUnion result;
  result.dictionary.modules = own.modules;
  result.dictionary.rows = own.rows;
  result.dictionary.stacks = own.stacks;
  result.dictionary.given_frames = own.given_frames;
  if (other.stacks.empty()) return result;
  const Needed needed(other, shapes);

  std::vector<std::uint32_t> module_of(other.modules.size(), index(trace::kNoModule));
  for (std::uint32_t module = 0; module < other.modules.size(); ++module) {
    if (!needed.modules[module]) continue;
    std::uint32_t at = 0;
    while (at < result.dictionary.modules.size() && !same(result.dictionary.modules[at], other.modules[module])) ++at;
    if (at == result.dictionary.modules.size()) result.dictionary.modules.push_back(other.modules[module]);
    module_of[module] = at;
  }

  std::unordered_map<std::uint64_t, std::uint32_t> known_rows;
  for (std::uint32_t row = 0; row < own.rows.size(); ++row) known_rows.try_emplace(own.rows[row], row);
  std::vector<std::uint32_t> row_of(other.rows.size());
  for (std::uint32_t row = 0; row < other.rows.size(); ++row) {
    if (!needed.rows[row]) continue;
    const std::uint64_t bits = other.rows[row];
    const std::uint32_t module = index(trace::row_module(bits));
    const std::uint32_t now = module < module_of.size() ? module_of[module] : index(trace::kNoModule);
    const std::uint64_t moved = trace::row_address(bits) | std::uint64_t{now} << 48;
    const auto [it, fresh] = known_rows.try_emplace(moved, static_cast<std::uint32_t>(result.dictionary.rows.size()));
    if (fresh) {
      result.dictionary.rows.push_back(moved);
      const auto given =
          std::ranges::equal_range(other.given_frames, static_cast<trace::RowId>(row), {}, &trace::GivenFrame::row);
      for (trace::GivenFrame frame : given) {
        frame.row = static_cast<trace::RowId>(it->second);
        result.dictionary.given_frames.push_back(std::move(frame));
      }
    }
    row_of[row] = it->second;
  }

  auto& stacks = result.dictionary.stacks;
  if (stacks.empty()) stacks.push_back({});
  std::unordered_map<std::uint64_t, std::uint32_t> known_stacks;
  for (std::uint32_t stack = 1; stack < own.stacks.size(); ++stack) {
    known_stacks.try_emplace(key(own.stacks[stack]), stack);
  }
  result.stack_of.assign(other.stacks.size(), trace::kEmptyStack);
  for (std::uint32_t stack = 1; stack < other.stacks.size(); ++stack) {
    if (!needed.stacks[stack]) continue;
    const trace::StackNode node = other.stacks[stack];
    const trace::StackNode moved{result.stack_of[index(node.caller)],
                                 static_cast<trace::RowId>(row_of[index(node.row)])};
    const auto [it, fresh] = known_stacks.try_emplace(key(moved), static_cast<std::uint32_t>(stacks.size()));
    if (fresh) stacks.push_back(moved);
    result.stack_of[stack] = static_cast<trace::StackId>(it->second);
  }
  return result;
}

}  // namespace tare::core
