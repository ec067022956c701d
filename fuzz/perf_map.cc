// Fuzzes the reader of maps of generated code: any program may write them. Rows lie 257 bytes apart.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/drain/generated_code/perf_map.h"
#include "trace/file/dictionary_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  constexpr std::uint64_t kNoModule = std::uint64_t{0xffff} << 48;
  tare::trace::Dictionary dictionary;
  for (std::uint64_t at = 0; at < 256; ++at) dictionary.rows.push_back(kNoModule | (at * 0x101 + 1));
  tare::core::GeneratedNames names(dictionary);
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size() < rest.size() ? line.size() + 1 : line.size());
    if (const auto code = tare::core::parse_perf_map_line(line)) {
      if (code->bytes == 0 || code->start + code->bytes < code->start || code->name.empty()) std::abort();
      names.add(*code);
    }
  }
  if (names.add_to(dictionary) > dictionary.rows.size()) std::abort();
  for (const tare::trace::GivenFrame& frame : dictionary.given_frames) {
    if (frame.function.size() > tare::trace::kMaxFrameText || frame.file.size() > tare::trace::kMaxFrameText)
      std::abort();
  }
  return 0;
}
