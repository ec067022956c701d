// Texts are made where they are needed, and made again to compare them: only numbers are kept.
#include "core/recording/stacks/text_rows.h"

#include <cstddef>
#include <functional>
#include <string>

#include "trace/model/id_table.h"

namespace tare::core {

std::vector<std::uint32_t> distinct_texts(const StackTexts& texts, std::span<const trace::StackId> stacks,
                                          std::vector<trace::StackId>& firsts) {
  std::vector<std::uint32_t> places;
  places.reserve(stacks.size());
  trace::IdTable by_text;
  std::string text, other;
  for (const trace::StackId stack : stacks) {
    texts.write(stack, text);
    const std::uint64_t hash = std::hash<std::string_view>{}(text);
    places.push_back(by_text.find_or_make(
        hash,
        [&](std::uint32_t place) {
          texts.write(firsts[place], other);
          return other == text;
        },
        [&] {
          firsts.push_back(stack);
          return static_cast<std::uint32_t>(firsts.size() - 1);
        }));
  }
  return places;
}

void write_rows(const StackTexts& texts, std::span<const trace::StackId> stacks, const RowForm& form,
                const TextSink& sink) {
  TextPieces pieces(sink);
  std::string text;
  for (std::size_t row = 0; row < stacks.size(); ++row) {
    if (row != 0) pieces << ",";
    for (const RowForm::NumberColumn& column : form.columns) pieces << column.before << column.numbers[row];
    if (!form.rests.empty()) pieces << form.rests[row];
    texts.write(stacks[row], text);
    pieces << form.before << text << form.after;
    pieces.end_of_part();
  }
  pieces.flush();
}

void write_numbers(std::span<const std::int64_t> numbers, std::int64_t none, std::int64_t more, const TextSink& sink) {
  TextPieces pieces(sink);
  bool is_first = true;
  for (const std::int64_t number : numbers) {
    if (!is_first) pieces << ",";
    is_first = false;
    if (number == none) {
      pieces << "null";
    } else {
      pieces << number + more;
    }
    pieces.end_of_part();
  }
  pieces.flush();
}

}  // namespace tare::core
