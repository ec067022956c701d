// Fuzzes the readers of /proc/PID/maps and smaps: a program chooses the names of files that it maps.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/process_memory/memory_map.h"
#include "core/snapshot/resident_memory.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const tare::core::MappedRange& mapped : tare::core::parse_memory_map(text)) {
    if (mapped.range.end <= mapped.range.start || mapped.name.find('\n') != std::string::npos) std::abort();
  }
  if (tare::core::parse_resident_ranges(text).size() != tare::core::parse_memory_map(text).size()) std::abort();
  return 0;
}
