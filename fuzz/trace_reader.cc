// Fuzzes the reader of .tare files: any bytes give a trace, an error, or part of a trace and an error.
//
// The first byte says whether checksums are made to fit before reading: without that nothing past them would be
// reached.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "trace/file/record.h"
#include "trace/open/open_trace.h"

namespace {

void make_checksums_fit(std::vector<std::uint8_t>& bytes) {
  using namespace tare::trace;
  for (std::size_t at = kFileHeaderBytes; at + kRecordHeaderBytes <= bytes.size();) {
    RecordHeader header;
    std::memcpy(&header, bytes.data() + at, sizeof(header));
    if (header.length > bytes.size() - at - kRecordHeaderBytes) break;
    header.checksum = record_checksum(header, {bytes.data() + at + kRecordHeaderBytes, header.length});
    std::memcpy(bytes.data() + at, &header, sizeof(header));
    at += kRecordHeaderBytes + header.length;
  }
}

struct CountingSink : tare::trace::EventSink {
  explicit CountingSink(const tare::trace::Dictionary& dictionary) : shapes(dictionary.shapes.size()) {}
  void consume(std::span<const tare::trace::Event> events) override {
    using tare::trace::EventKind;
    for (const tare::trace::Event& event : events) {
      const bool has_shape = event.kind == EventKind::Alloc || event.kind == EventKind::ReallocStart ||
                             event.kind == EventKind::Map || event.kind == EventKind::Unmap;
      if (has_shape && tare::trace::index(event.shape) >= shapes) std::abort();
    }
  }
  std::size_t shapes;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::vector<std::uint8_t> bytes(data + 1, data + size);
  if ((data[0] & 1) != 0) make_checksums_fit(bytes);
  static const int file = ::memfd_create("trace", MFD_CLOEXEC);
  if (::ftruncate(file, 0) != 0 || ::pwrite(file, bytes.data(), bytes.size(), 0) < 0) return 0;
  const auto opened = tare::trace::open_trace("/proc/self/fd/" + std::to_string(file));
  if (!opened) return 0;
  (void)opened->read_moments([&](const tare::trace::Moment& moment) {
    for (const tare::trace::Observation& block : moment.blocks) {
      const bool has_shape = block.shape != tare::trace::kNoShape;
      if (has_shape && tare::trace::index(block.shape) >= opened->dictionary().shapes.size()) std::abort();
    }
  });
  CountingSink sink(opened->dictionary());
  (void)opened->replay_into(sink);
  const tare::trace::Clock clock(opened->clock_pairs());
  (void)clock.ns(~std::uint64_t{0});
  return 0;
}
