// Facts of a watch file, and a recording made of it.
// SPDX-License-Identifier: Apache-2.0
#include "bindings/watch.h"

#include <nanobind/stl/vector.h>

#include <string>

#include "bindings/os_string.h"
#include "bindings/python_error.h"
#include "core/watch/watch_trace.h"
#include "trace/watch/watch_file.h"

namespace nb = nanobind;

namespace tare::bindings {
namespace {

nb::dict watch_facts(const std::string& path) {
  auto read = [&] {
    nb::gil_scoped_release released;
    return trace::read_watch_file(path, trace::WatchParts::Facts);
  }();
  const trace::WatchedProcess process = value_or_raise(std::move(read));
  const trace::WatchTotals& totals = process.totals;
  nb::dict facts;
  facts["process_id"] = process.info.pid;
  facts["parent_process_id"] = process.info.parent_pid;
  facts["process_start_ticks"] = process.process_start_ticks;
  facts["boot_id"] = process.boot_id;
  facts["executable"] = process.info.exe;
  facts["command_line"] = process.info.command_line;
  facts["began_ns"] = process.info.start_realtime_ns;
  facts["updated_ns"] = totals.realtime_ns;
  facts["sample_bytes"] = totals.sample_bytes;
  facts["first_sample_bytes"] = process.first_sample_bytes;
  facts["live_bytes"] = process.live_bytes();
  facts["live_blocks"] = process.live_blocks();
  facts["live_bytes_error"] = process.live_bytes_error();
  facts["live_samples"] = process.samples.size();
  facts["allocated_bytes"] = totals.allocated_bytes;
  facts["allocated_blocks"] = totals.allocated_blocks;
  facts["freed_bytes"] = totals.freed_bytes;
  facts["freed_blocks"] = totals.freed_blocks;
  facts["ended"] = process.has_ended;
  facts["stopped"] = trace::stop_reason(totals.stop);
  facts["rests"] = totals.stop == static_cast<std::uint32_t>(trace::WatchStop::Resting);
  facts["budget_cpu_share"] = process.budget.cpu_share;
  facts["budget_memory_bytes"] = process.budget.memory_bytes;
  facts["budget_disk_bytes"] = process.budget.disk_bytes;
  facts["recorder_ns"] = process.budget.recorder_ns;
  facts["process_ns"] = process.budget.process_ns;
  facts["recorder_bytes"] = process.budget.recorder_bytes;
  facts["slots_total"] = trace::kWatchMaxSamples;
  facts["inherited"] = process.inherited();
  facts["lost_events"] = totals.lost_events;
  facts["lost_stacks"] = totals.lost_stacks;
  return facts;
}

void watch_to_trace(const std::string& path, const std::string& out) {
  const Status written = [&] {
    nb::gil_scoped_release released;
    return core::write_watch_trace(path, out);
  }();
  if (!written) raise(written.error());
}

}  // namespace

void bind_watch(nb::module_& module) {
  module.def("watch_facts", watch_facts, nb::arg("path"));
  module.def("watch_to_trace", watch_to_trace, nb::arg("path"), nb::arg("out"));
}

}  // namespace tare::bindings
