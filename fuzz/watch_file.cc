// Fuzzes the reader of watch files, and the recording that is made of one. The file has a valid header; the input is a
// list of pieces, each with its place (4 bytes: region and offset) and length (2 bytes). The first byte: 1 puts right
// the check words of the totals and of the first samples, so that the other checks come to their turn.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "core/watch/watch_trace.h"
#include "trace/watch/watch_file.h"

namespace {

using namespace tare::trace;

void put_header(std::vector<std::uint8_t>& file) {
  auto* const header = reinterpret_cast<SpoolHeader*>(file.data());
  std::memcpy(header->magic, kWatchMagic, sizeof(header->magic));
  header->version = kWatchVersion;
  header->header_bytes = sizeof(SpoolHeader);
}

void put_checks_right(std::vector<std::uint8_t>& file) {
  constexpr std::uint64_t kTotals = kWatchState + offsetof(WatchState, totals);
  WatchTotals totals;
  std::memcpy(&totals, file.data() + kTotals, sizeof(totals));
  totals.nodes %= kWatchMaxNodes + 1;
  totals.sums %= kWatchMaxSums + 1;
  totals.sample_slots %= kWatchMaxSamples + 1;
  totals.check = watch_check(totals);
  std::memcpy(file.data() + kTotals, &totals, sizeof(totals));
  for (std::uint64_t slot = 0; slot < 32; ++slot) {
    WatchSample sample;
    std::memcpy(&sample, file.data() + kWatchSamples + slot * sizeof(sample), sizeof(sample));
    sample.check = watch_check(sample);
    std::memcpy(file.data() + kWatchSamples + slot * sizeof(sample), &sample, sizeof(sample));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int file = ::memfd_create("watch", MFD_CLOEXEC);
  static const int out = ::memfd_create("trace", MFD_CLOEXEC);
  static std::vector<std::uint8_t> contents;
  if (size == 0) return 0;
  const bool is_right = (data[0] & 1) != 0;
  const bool is_short = (data[0] & 2) != 0;
  ++data;
  --size;
  contents.assign(kWatchBytes, 0);
  put_header(contents);
  constexpr std::uint64_t kRegions[] = {8,          kWatchState, kWatchStrings, kWatchModules,
                                        kWatchRows, kWatchNodes, kWatchSums,    kWatchSamples};
  std::uint64_t end = kWatchBytes;
  while (size > 6) {
    std::uint32_t place;
    std::uint16_t length;
    std::memcpy(&place, data, 4);
    std::memcpy(&length, data + 4, 2);
    data += 6;
    size -= 6;
    const std::size_t bytes = std::min<std::size_t>(length, size);
    const std::uint64_t offset = kRegions[(place >> 24) % std::size(kRegions)] + (place & 0x3fffff);
    if (offset + bytes <= contents.size()) std::memcpy(contents.data() + offset, data, bytes);
    if (is_short) end = std::min<std::uint64_t>(offset + bytes, kWatchBytes);
    data += bytes;
    size -= bytes;
  }
  if (is_right) put_checks_right(contents);
  if (::ftruncate(file, 0) != 0 || ::pwrite(file, contents.data(), end, 0) < 0) return 0;
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  const auto process = read_watch_file(path);
  if (!process) return 0;
  (void)process->live_bytes_error();
  (void)tare::core::write_watch_trace(path, "/proc/self/fd/" + std::to_string(out));
  return 0;
}
