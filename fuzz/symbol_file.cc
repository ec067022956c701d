// Any bytes as the ELF file of a program: functions are listed or not, their names within the file.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "recorder/foreign/symbol_file.h"

namespace {

void read_name(void* sum, const tare::recorder::FunctionSymbol& function) {
  *static_cast<std::size_t*>(sum) += std::strlen(function.name) + function.value + function.bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A copy of its own size, so that the sanitizer sees the first byte too many.
  const std::vector<std::uint8_t> file(data, data + size);
  std::size_t sum = 0;
  const bool found = tare::recorder::visit_functions(file.data(), file.size(), read_name, &sum);
  if (!found && sum != 0) std::abort();
  return 0;
}
