// Many stacks with their numbers as text, in pieces: rows of JSON, and texts that are the same.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/recording/stacks/stack_texts.h"
#include "core/recording/stacks/text_pieces.h"
#include "trace/model/ids.h"

namespace tare::core {

// For each stack the place of its text among `firsts`, which get a stack for each text, in the order of the texts.
std::vector<std::uint32_t> distinct_texts(const StackTexts& texts, std::span<const trace::StackId> stacks,
                                          std::vector<trace::StackId>& firsts);

// A row a stack: for each column the text before its numbers and the number, then a rest, `before`, the stack's text
// and `after`. Commas separate rows.
struct RowForm {
  struct NumberColumn {
    std::string_view before;
    std::span<const std::int64_t> numbers;  // as many as stacks
  };
  std::vector<NumberColumn> columns;
  std::span<const std::string> rests;  // as many as stacks, or none
  std::string_view before, after;
};
void write_rows(const StackTexts& texts, std::span<const trace::StackId> stacks, const RowForm& form,
                const TextSink& sink);

// Numbers as JSON has them, `more` added to each, with commas between. `none`: the number that means null.
void write_numbers(std::span<const std::int64_t> numbers, std::int64_t none, std::int64_t more, const TextSink& sink);

}  // namespace tare::core
