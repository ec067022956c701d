// Fuzzes the reader of watch files, and the recording that is made of one. The file has a valid header; the input is a
// list of pieces, see placed_writes.h. The first byte: 1 puts right the check words of the totals and of the first
// samples, so that the other checks come to their turn.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "core/watch/watch_trace.h"
#include "placed_writes.h"
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
  const auto write = [&](std::uint64_t offset, const std::uint8_t* bytes, std::size_t count) {
    if (offset + count <= kWatchBytes) put(file, offset, bytes, count);
    if (is_short) end = std::min<std::uint64_t>(offset + count, kWatchBytes);
    return true;
  };
  tare::fuzz::for_placed_writes(data, size, kRegions, 0x3fffff, write);
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
