// Fuzzes the reader of a recorder's state in a process' memory.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "core/launcher/rendezvous_view.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<char> memory(data, data + size);
  const auto at = tare::core::find_rendezvous(memory);
  if (!at) return 0;
  const auto facts = tare::core::read_rendezvous(std::span(memory).subspan(*at));
  if (facts && facts->state > tare::trace::RecorderState::Off) std::abort();
  if (facts && facts->directory.size() > sizeof(tare::trace::Rendezvous::directory)) std::abort();
  return 0;
}
