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
#include <type_traits>

#include "core/watch/watch_trace.h"
#include "trace/watch/watch_file.h"

namespace {

using namespace tare::trace;

void put(int file, std::uint64_t offset, const void* bytes, std::size_t count) {
  (void)!::pwrite(file, bytes, count, static_cast<off_t>(offset));
}

void put_header(int file) {
  constexpr std::uint32_t kVersions[] = {kWatchVersion, sizeof(SpoolHeader)};
  put(file, 0, kWatchMagic, sizeof(kWatchMagic));
  put(file, sizeof(kWatchMagic), kVersions, sizeof(kVersions));
}

template <typename Entry>
void put_check_right(int file, std::uint64_t offset) {
  Entry entry{};
  if (::pread(file, &entry, sizeof(entry), static_cast<off_t>(offset)) != static_cast<ssize_t>(sizeof(entry))) return;
  if constexpr (std::is_same_v<Entry, WatchTotals>) {
    entry.nodes %= kWatchMaxNodes + 1;
    entry.sums %= kWatchMaxSums + 1;
    entry.sample_slots %= kWatchMaxSamples + 1;
  }
  entry.check = watch_check(entry);
  put(file, offset, &entry, sizeof(entry));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int file = ::memfd_create("watch", MFD_CLOEXEC);
  static const int out = ::memfd_create("trace", MFD_CLOEXEC);
  if (size == 0) return 0;
  const bool is_right = (data[0] & 1) != 0;
  const bool is_short = (data[0] & 2) != 0;
  ++data;
  --size;
  if (::ftruncate(file, 0) != 0 || ::ftruncate(file, kWatchBytes) != 0) return 0;
  put_header(file);
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
    if (offset + bytes <= kWatchBytes) put(file, offset, data, bytes);
    if (is_short) end = std::min<std::uint64_t>(offset + bytes, kWatchBytes);
    data += bytes;
    size -= bytes;
  }
  if (is_right) {
    const std::uint64_t even = 0;  // or the reader would copy the file 20 times
    put(file, kWatchState, &even, sizeof(even));
    put_check_right<WatchTotals>(file, kWatchState + offsetof(WatchState, totals));
    for (std::uint64_t slot = 0; slot < 16; ++slot) {
      put_check_right<WatchSample>(file, kWatchSamples + slot * sizeof(WatchSample));
    }
  }
  if (end < kWatchBytes && ::ftruncate(file, static_cast<off_t>(end)) != 0) return 0;
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  const auto process = read_watch_file(path);
  if (!process) return 0;
  (void)process->live_bytes_error();
  (void)tare::core::write_watch_trace(path, "/proc/self/fd/" + std::to_string(out));
  return 0;
}
