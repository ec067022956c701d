// Any bytes as an ELF file with types in its debug information: layouts come out or not, never a crash, and what comes
// out keeps its promises.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/types/layout_reader.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void check(const tare::core::TypeLayout& layout) {
  require(layout.reordered_bytes <= layout.size_bytes);
  require(layout.narrow_reordered_bytes <= layout.narrow_bytes);
  require(layout.order.empty() || layout.order.size() == layout.fields.size());
  require(layout.narrow_order.empty() || layout.narrow_order.size() == layout.fields.size());
  std::uint64_t end_bits = 0;
  for (const tare::core::Hole& hole : layout.holes) {
    require(hole.size_bits > 0 && hole.offset_bits >= end_bits);
    end_bits = hole.offset_bits + hole.size_bits;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tare::core;
  auto binary = DebugBinary::from_bytes(std::string(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!binary) return 0;
  std::uint64_t types = 0;
  const auto read = read_layouts(**binary,
                                 [&](TypeLayout&& layout) {
                                   check(layout);
                                   ++types;
                                 },
                                 {});
  require(!read || read->types == types);
  return 0;
}
