// Fuzzes the reader of jitdump files: any program may write them. Rows lie 257 bytes apart.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "core/drain/generated_code/jitdump.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::uint64_t kNoModule = std::uint64_t{0xffff} << 48;
  constexpr std::uint32_t kPid = 7;
  tare::trace::Dictionary dictionary;
  for (std::uint64_t at = 0; at < 256; ++at) dictionary.rows.push_back(kNoModule | (at * 0x101 + 1));
  tare::core::GeneratedNames names(dictionary);
  const auto source = [&](std::uint64_t offset, std::span<std::uint8_t> room) {
    const std::size_t got = offset < size ? std::min(room.size(), size - static_cast<std::size_t>(offset)) : 0;
    if (got != 0) std::memcpy(room.data(), data + offset, got);
    return got;
  };
  if (!tare::core::add_jitdump(source, kPid, names)) {
    if (names.add_to(dictionary) != 0) std::abort();
    return 0;
  }
  if (names.add_to(dictionary) > dictionary.rows.size()) std::abort();
  return 0;
}
