// Fuzzes the reader of what users ask of a launcher.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/launcher/request.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using tare::core::Request;
  const auto request = tare::core::parse_request({reinterpret_cast<const char*>(data), size});
  if (!request) return 0;
  if (request->whom == Request::Whom::Process ? request->pid <= 0 : request->pid != 0) std::abort();
  if (request->name.size() > Request::kMostNameBytes) std::abort();
  return 0;
}
