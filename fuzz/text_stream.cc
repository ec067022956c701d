// Any sequence of acts on a TextStream and a FixedTextStream, against std::string: the input's bytes choose them.
#include "tare/text_stream.h"

#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

namespace {

// Bytes of the input, zeros at its end.
class Choices {
 public:
  explicit Choices(std::span<const std::uint8_t> input) : input_(input) {}
  bool any_left() const { return !input_.empty(); }
  std::uint8_t next() {
    if (input_.empty()) return 0;
    const std::uint8_t byte = input_.front();
    input_ = input_.subspan(1);
    return byte;
  }

 private:
  std::span<const std::uint8_t> input_;
};

void demand(bool holds) {
  if (!holds) std::abort();
}

// The same text to both; what the fixed one takes is a prefix.
struct Both {
  tare::TextStream& out;
  tare::FixedTextStream& fixed;
  std::string& expected;

  void write(std::string_view text) {
    const std::string copy(text);  // it may be the stream's own
    demand(out.append(text));
    fixed.append(copy);
    expected += copy;
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choices choices({data, size});
  std::vector<char> memory(choices.next());
  tare::FixedTextStream fixed(memory.data(), memory.size());
  tare::TextStream out;
  std::string expected;
  Both both{out, fixed, expected};
  bool is_whole = true;  // whether the fixed stream was given all that's in `expected`
  while (choices.any_left()) {
    switch (choices.next() % 11) {
      case 0:
        both.write(std::string(choices.next(), static_cast<char>(choices.next())));
        break;
      case 1: {
        const char character = static_cast<char>(choices.next());
        out << character;
        fixed << character;
        expected += character;
        break;
      }
      case 2: {
        const auto number = static_cast<std::int64_t>(choices.next()) * -0x0101'0101'0101'01;
        out << number;
        fixed << number;
        expected += std::to_string(number);
        break;
      }
      case 3: {
        const int width = choices.next();
        demand(out.print("%*d", width, 7));
        fixed.print("%*d", width, 7);
        expected += std::string(width > 1 ? static_cast<std::size_t>(width) - 1 : 0, ' ') + '7';
        break;
      }
      case 4:
        both.write(out.view().substr(choices.next() % (out.size() + 1), choices.next()));
        break;
      case 5: {
        const std::size_t kept = choices.next() % (out.size() + 1);
        out.shorten(kept);
        expected.resize(kept);
        is_whole = false;
        break;
      }
      case 6: {
        tare::TextStream moved(std::move(out));
        out = std::move(moved);
        break;
      }
      case 7:
        out.reset(choices.next() % 2 == 0 ? tare::HeapPart::Keep : tare::HeapPart::Drop), expected.clear();
        is_whole = false;
        break;
      case 8:
        demand(out.c_str()[out.size()] == '\0');
        break;
      case 9: {
        const tare::Bytes taken = out.take();
        demand(taken.text() == expected);
        expected.clear();
        is_whole = false;
        break;
      }
      default: {
        const std::size_t count = choices.next();
        demand(out.append(count, '-'));
        fixed.append(count, '-');
        expected.append(count, '-');
      }
    }
    demand(out.ok() && out.view() == expected);
    demand(fixed.size() < memory.size() || fixed.empty());
    if (is_whole) {
      demand(fixed.view() == std::string_view(expected).substr(0, fixed.size()));
      demand(fixed.size() + fixed.lost_bytes() == expected.size());
      demand(fixed.ok() == (fixed.size() == expected.size()));
    }
  }
  return 0;
}
