// Making a watch file: regions of fixed size, no chunks.
// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <sys/resource.h>

#include <cstring>

#include "recorder/base/syscall.h"
#include "recorder/base/text.h"
#include "recorder/spool/spool.h"
#include "trace/watch/watch_layout.h"

namespace tare::recorder {

Errno Spool::create_watched(const char* directory) {
  mode_ = SpoolMode::Watched;
  most_file_bytes_ = 0;
  chunk_limit_ = 0;
  file_chunks_ = 0;
  if (trace::kWatchBytes > sys::limit_of(RLIMIT_FSIZE)) return EFBIG;  // it would mean SIGXFSZ
  const long fd = open_new(directory);
  if (sys::failed(fd)) return static_cast<Errno>(-fd);
  const long sized = sys::call(SYS_ftruncate, fd, static_cast<long>(trace::kWatchBytes));
  Errno error = sys::failed(sized) ? static_cast<Errno>(-sized) : map_header(fd);
  using Region = Tables::Region;
  const auto map = [&](Area& area, std::uint64_t offset, std::uint64_t end) {
    if (error == 0) error = map_area(area, fd, offset, end - offset, kStep);
  };
  map(area(WatchArea::State), trace::kWatchState, trace::kWatchStrings);
  map(area(Region::Strings), trace::kWatchStrings, trace::kWatchModules);
  map(area(Region::Modules), trace::kWatchModules, trace::kWatchRows);
  map(area(Region::Rows), trace::kWatchRows, trace::kWatchNodes);
  map(area(WatchArea::Nodes), trace::kWatchNodes, trace::kWatchSums);
  map(area(WatchArea::Sums), trace::kWatchSums, trace::kWatchSamples);
  map(area(WatchArea::Samples), trace::kWatchSamples, trace::kWatchBytes);
  sys::close(fd);
  if (error == 0 && (!ensure(WatchArea::State, 1) || !ensure(Region::Strings, 1))) error = ENOSPC;
  if (error != 0) discard();
  return error;
}

// The header's page, and the parts of the areas that are backed by the disk.
std::uint64_t Spool::file_bytes() const {
  std::uint64_t bytes = trace::kWatchState;
  for (const Area& each : areas_) bytes += each.ready.load(std::memory_order_relaxed);
  return bytes;
}

}  // namespace tare::recorder
