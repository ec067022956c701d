// Fuzzes the reader of whole spools, as killed launchers leave them behind. A spool is sparse and its parts lie far
// apart: the input is a list of pieces, see placed_writes.h.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "placed_writes.h"
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
  constexpr std::uint64_t kRegions[] = {0, kStrings, kModules, kRows, kControls, kChunks};
  const auto write = [](std::uint64_t offset, const std::uint8_t* bytes, std::size_t count) {
    return ::pwrite(file, bytes, count, static_cast<off_t>(offset)) >= 0;
  };
  if (!tare::fuzz::for_placed_writes(data, size, kRegions, 0xffffff, write)) return 0;
  const auto opened = open_trace("/proc/self/fd/" + std::to_string(file));
  if (!opened) return 0;
  IgnoringSink sink;
  (void)opened->replay_into(sink);
  return 0;
}
