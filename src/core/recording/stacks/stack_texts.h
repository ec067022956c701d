// Stacks as texts: the texts of their rows, joined. For files of other tools, which have a hundred thousand stacks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/model/event.h"
#include "trace/model/ids.h"

namespace tare::core {

enum class StackOrder : std::uint8_t { InnermostFirst, OutermostFirst };

// Rows that occur in the stacks, ascending, each once. Callers that stacks share are visited once.
std::vector<trace::RowId> rows_of_stacks(std::span<const trace::StackNode> nodes,
                                         std::span<const trace::StackId> stacks);

// Calls `visit` with each row of a stack, innermost first. A caller's id is smaller; a damaged trace may say otherwise.
template <typename Visit>
void for_each_row(std::span<const trace::StackNode> nodes, trace::StackId stack, const Visit& visit) {
  while (stack != trace::kEmptyStack && trace::index(stack) < nodes.size()) {
    const trace::StackNode node = nodes[trace::index(stack)];
    visit(node.row);
    if (trace::index(node.caller) >= trace::index(stack)) break;
    stack = node.caller;
  }
}

class StackTexts {
 public:
  // `nodes` must outlive this.
  StackTexts(std::span<const trace::StackNode> nodes, StackOrder order, std::string separator);

  // A row without a name adds nothing. `innermost`: its text as the innermost row of a stack.
  void name(trace::RowId row, std::string text, std::string innermost);

  // Replaces `text`, so that its memory is used again. One thread at a time.
  void write(trace::StackId stack, std::string& text) const;

 private:
  struct Name {
    std::string text, innermost;
    bool known = false;
  };
  std::span<const trace::StackNode> nodes_;
  StackOrder order_;
  std::string separator_;
  std::vector<Name> names_;                      // by row
  mutable std::vector<std::string_view> parts_;  // of the stack that is being written
};

}  // namespace tare::core
