// Fuzzes the readers of the caches of symbols and types: the first byte says whose, the rest is the body, sealed here
// so that its checksum fits. What is read is written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/allocated_types/pointed_cache.h"
#include "core/symbols/cache_file.h"
#include "core/symbols/symbol_cache.h"
#include "core/types/layout_cache.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tare::core;
  if (size == 0) return 0;
  const std::string body(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0: {
      const auto frames = decode_symbol_cache(seal_cache("TARESYM1", body), "");
      if (frames && decode_symbol_cache(encode_symbol_cache("", *frames), "") != frames) std::abort();
      break;
    }
    case 1: {
      const auto layouts = decode_layouts("", seal_cache("TARETYP3", body));
      if (!layouts) break;
      const auto again = decode_layouts("", encode_layouts("", *layouts));
      if (!again || again->types.size() != layouts->types.size()) std::abort();
      break;
    }
    default: {
      const auto pointed = decode_pointed("", seal_cache("TAREPTR1", body));
      if (!pointed) break;
      const auto again = decode_pointed("", encode_pointed("", *pointed));
      if (!again || again->size() != pointed->size()) std::abort();
    }
  }
  return 0;
}
