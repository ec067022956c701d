// Any bytes as the line table of a code object, in each format that CPython has had. The first five bytes choose an
// instruction and the first line.
#include <cstdint>
#include <cstring>
#include <vector>

#include "recorder/managed/line_table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tare::recorder;
  constexpr std::size_t kHead = 5;
  if (size < kHead) return 0;
  std::int32_t first_line = 0;
  std::memcpy(&first_line, data + 1, sizeof first_line);
  const std::vector<std::uint8_t> table(data + kHead, data + size);
  const std::int64_t instructions[] = {-2, 0, data[0] * std::int64_t{2}, INT32_MAX};
  for (const LineFormat format : {LineFormat::LineNumbers, LineFormat::LineRanges, LineFormat::Locations}) {
    for (const std::int64_t instruction : instructions) {
      (void)line_of(format, table.data(), table.size(), first_line, instruction);
    }
  }
  return 0;
}
