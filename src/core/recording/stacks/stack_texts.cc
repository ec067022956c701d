// One walk from the innermost row to the outermost a stack.
#include "core/recording/stacks/stack_texts.h"

#include <ranges>
#include <utility>

namespace tare::core {

std::vector<trace::RowId> rows_of_stacks(std::span<const trace::StackNode> nodes,
                                         std::span<const trace::StackId> stacks) {
  std::vector<bool> visited(nodes.size());
  std::vector<bool> found;
  for (trace::StackId stack : stacks) {
    while (stack != trace::kEmptyStack && trace::index(stack) < nodes.size() && !visited[trace::index(stack)]) {
      visited[trace::index(stack)] = true;
      const trace::StackNode node = nodes[trace::index(stack)];
      if (trace::index(node.row) >= found.size()) found.resize(trace::index(node.row) + std::size_t{1});
      found[trace::index(node.row)] = true;
      if (trace::index(node.caller) >= trace::index(stack)) break;
      stack = node.caller;
    }
  }
  std::vector<trace::RowId> rows;
  for (std::size_t row = 0; row < found.size(); ++row) {
    if (found[row]) rows.push_back(static_cast<trace::RowId>(row));
  }
  return rows;
}

StackTexts::StackTexts(std::span<const trace::StackNode> nodes, StackOrder order, std::string separator)
    : nodes_(nodes), order_(order), separator_(std::move(separator)) {}

void StackTexts::name(trace::RowId row, std::string text, std::string innermost) {
  if (trace::index(row) >= names_.size()) names_.resize(trace::index(row) + std::size_t{1});
  names_[trace::index(row)] = {std::move(text), std::move(innermost), true};
}

void StackTexts::write(trace::StackId stack, std::string& text) const {
  text.clear();
  parts_.clear();
  bool is_innermost = true;
  for_each_row(nodes_, stack, [&](trace::RowId row) {
    const std::size_t at = trace::index(row);
    if (at < names_.size() && names_[at].known) parts_.push_back(is_innermost ? names_[at].innermost : names_[at].text);
    is_innermost = false;
  });
  const auto append = [&](std::string_view part, bool is_first) {
    if (!is_first) text += separator_;
    text += part;
  };
  bool is_first = true;
  if (order_ == StackOrder::InnermostFirst) {
    for (const std::string_view part : parts_) append(part, std::exchange(is_first, false));
  } else {
    for (const std::string_view part : std::views::reverse(parts_)) append(part, std::exchange(is_first, false));
  }
}

}  // namespace tare::core
