// Fuzzes the reader of whole spools, as killed launchers leave them behind. A spool is sparse and its parts lie far
// apart: the input is a list of pieces, each with its place (4 bytes: region and offset) and length (2 bytes).
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "trace/open/open_trace.h"
#include "trace/spool/spool_layout.h"

namespace {

struct IgnoringSink : tare::trace::EventSink {
  void consume(std::span<const tare::trace::Event> /*events*/) override {}
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tare::trace;
  static const int file = ::memfd_create("spool", MFD_CLOEXEC);
  if (::ftruncate(file, 0) != 0) return 0;
  constexpr std::uint64_t kRegions[] = {0, kStrings, kModules, kRows, kControls, kChunks, kHeadPayloads};
  while (size > 6) {
    std::uint32_t place;
    std::uint16_t length;
    std::memcpy(&place, data, 4);
    std::memcpy(&length, data + 4, 2);
    data += 6;
    size -= 6;
    const std::size_t bytes = std::min<std::size_t>(length, size);
    const std::uint64_t offset = kRegions[(place >> 24) % std::size(kRegions)] + (place & 0xffffff);
    if (::pwrite(file, data, bytes, static_cast<off_t>(offset)) < 0) return 0;
    data += bytes;
    size -= bytes;
  }
  const auto opened = open_trace("/proc/self/fd/" + std::to_string(file));
  if (!opened) return 0;
  IgnoringSink sink;
  (void)opened->replay_into(sink);
  return 0;
}
