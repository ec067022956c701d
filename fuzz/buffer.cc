// Any sequence of acts on a Buffer and on Bytes made of it, against std::vector: the input's bytes choose them.
#include "tare/buffer.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "tare/bytes.h"

namespace {

void demand(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tare::Buffer<std::string> strings;  // moved one by one
  tare::Buffer<char> characters;      // moved by realloc
  std::vector<std::string> expected_strings;
  std::string expected;
  tare::Bytes bytes;
  std::string expected_bytes;
  for (std::size_t i = 0; i + 1 < size; i += 2) {
    const std::size_t count = data[i + 1];
    const auto character = static_cast<char>(data[i + 1]);
    switch (data[i] % 10) {
      case 0:
        demand(strings.emplace_back(count, character) != nullptr);
        expected_strings.emplace_back(count, character);
        break;
      case 1:
        if (expected_strings.empty()) break;
        demand(strings.append(strings[count % strings.size()]));
        expected_strings.push_back(std::string(expected_strings[count % expected_strings.size()]));
        break;
      case 2:
        demand(strings.resize(count)), expected_strings.resize(count);
        break;
      case 3:
        demand(strings.shrink_to_fit());
        break;
      case 4:
        demand(characters.append(character)), expected += character;
        break;
      case 5: {
        const std::size_t from = expected.empty() ? 0 : count % expected.size();
        demand(characters.append_all(characters.span().subspan(from)));
        expected += expected.substr(from);
        if (expected.size() > 10'000) characters.clear(), expected.clear();
        break;
      }
      case 6:
        demand(characters.reserve_exactly(count * 16) && characters.resize(count)), expected.resize(count);
        break;
      case 7:
        demand(characters.shrink_to_fit());
        break;
      case 8: {
        const auto released = std::move(characters).release();
        bytes = count % 2 == 0 ? tare::Bytes::copy(released.data, released.size)
                               : tare::Bytes::copy_of_text({released.data, released.size});
        std::free(released.data);
        expected_bytes = std::exchange(expected, std::string());
        break;
      }
      default:
        bytes = bytes.slice(count, count);
        expected_bytes = count < expected_bytes.size() ? expected_bytes.substr(count, count) : std::string();
    }
    demand(std::equal(strings.begin(), strings.end(), expected_strings.begin(), expected_strings.end()));
    demand(std::equal(characters.begin(), characters.end(), expected.begin(), expected.end()));
    demand(bytes.text() == expected_bytes);
  }
  return 0;
}
