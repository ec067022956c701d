// Any bytes as the launcher's table of allocators: it is refused, or all that a recorder reads of it lies within.
#include "trace/spool/allocator_table.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

using namespace tare::trace;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto table = std::make_unique<AllocatorTable>();  // zeros behind what there is, as a mapped file has
  std::memcpy(static_cast<void*>(table.get()), data, size < sizeof *table ? size : sizeof *table);
  if (!is_sound(*table)) return 0;
  std::size_t bytes = 0;
  for (std::uint32_t i = 0; i < table->allocator_count; ++i) {
    bytes += std::strlen(table->allocators[i].name) + std::strlen(table->allocators[i].library);
  }
  for (std::uint32_t i = 0; i < table->function_count; ++i) {
    const ForeignFunction& function = table->functions[i];
    bytes += std::strlen(function.symbol) + std::strlen(table->allocators[function.allocator].name);
  }
  if (bytes > sizeof *table * 2) std::abort();
  return 0;
}
