// Any bytes as a symbol's name: every demangler must end, within bounds.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/demangle/demangle.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view name(reinterpret_cast<const char*>(data), size);
  const auto split = tare::core::split_clone_suffix(name);
  if (split.base.size() + split.clone.size() != name.size()) std::abort();
  const std::string readable = tare::core::demangle(name);
  if (name.starts_with("_R") && readable.size() > (80u << 10) + 2 * name.size()) std::abort();
  return 0;
}
