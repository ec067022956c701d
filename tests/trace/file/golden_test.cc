// Traces of every version ever released are read for ever: golden/vN-NAME.tare says what golden/vN-NAME.txt says.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/content_spool.h"
#include "support/temp_dir.h"
#include "support/trace_samples.h"
#include "trace/file/expected_events.h"
#include "trace/open/open_trace.h"

namespace tare::test {
namespace {

void write_content_trace(const std::string& path) {
  const TempDir dir;
  write_content_spool(dir / "spool");
  write_trace_of_spool(dir / "spool", path, 100, Ending::End);
}

std::string describe(const std::string& path) {
  auto opened = trace::open_trace(path);
  if (!opened) return opened.error().message;
  std::ostringstream text;
  const trace::ProcessInfo& info = opened->info();
  text << "pid " << info.pid << " parent " << info.parent_pid << " image " << info.image_index << " exe " << info.exe
       << " words " << info.command_line.size() << " status " << info.wait_status.value_or(-1) << " complete "
       << opened->complete() << "\n";
  for (const trace::ClockPair& pair : opened->clock_pairs())
    text << "clock " << pair.stamp << " " << pair.monotonic_ns << "\n";
  for (const trace::Module& module : opened->dictionary().modules) {
    text << "module " << module.path << " " << module.start << " " << module.end << " " << module.build_id.size()
         << "\n";
  }
  for (const trace::Shape& shape : opened->dictionary().shapes) {
    text << "shape " << static_cast<int>(shape.api) << " " << static_cast<int>(shape.align_log2) << " "
         << static_cast<int>(shape.is_map) << " " << shape.requested_bytes << " " << shape.usable_bytes << " "
         << shape.weight << " from";
    for (const std::uint64_t address : return_addresses(opened->dictionary(), shape.stack)) text << " " << address;
    text << "\n";
  }
  if (info.segment) {
    const trace::Segment& segment = *info.segment;
    text << "segment " << segment.number << " " << segment.stamp << " " << segment.continued << " after "
         << segment.before.duration_ns << " " << segment.before.alloc_events << " " << segment.before.peak_gross_bytes
         << " " << segment.before.dropped_events << "\n";
    for (const trace::ThreadPosition& position : segment.positions)
      text << "position " << position.thread << " " << position.made_events << " " << position.last_stamp << "\n";
  }
  const trace::LiveSet& live = opened->live_before();
  for (const trace::LiveSet::Block& block : live.blocks) {
    const trace::Shape& shape = live.dictionary.shapes[trace::index(block.shape)];
    text << "live " << block.address << " " << shape.requested_bytes << " " << shape.weight << " from";
    for (const std::uint64_t address : return_addresses(live.dictionary, shape.stack)) text << " " << address;
    text << "\n";
  }
  for (const trace::LiveSet::Range& range : live.mappings) text << "mapped " << range.start << " " << range.end << "\n";
  const Status moments = opened->read_moments([&](const trace::Moment& moment) {
    text << "moment " << static_cast<int>(moment.kind) << " '" << moment.name << "' at " << moment.stamp << " after "
         << moment.events_before << " facts " << moment.frozen_ns << " " << moment.cost_ns << " " << moment.root_bytes
         << " " << moment.unread_bytes << "\n";
    for (const trace::Observation& block : moment.blocks) {
      text << "  " << block.address << " " << block.digest << " " << trace::index(block.shape) << " "
           << static_cast<int>(block.content) << " " << static_cast<int>(block.reach) << " " << block.start_pointers
           << " " << block.interior_pointers << " " << block.leak_root << " " << block.unchanged_ns.value_or(0) << "/"
           << block.unchanged_ns.has_value() << " " << block.high_water_bytes.value_or(0) << "/"
           << block.high_water_bytes.has_value() << "\n";
    }
  });
  if (!moments) text << moments.error().message << "\n";
  CollectingSink sink;
  if (const Status status = opened->replay_into(sink); !status) text << status.error().message << "\n";
  for (const trace::Event& event : sink.all) {
    text << event.stamp << " " << event.thread << " " << static_cast<int>(event.kind) << " "
         << static_cast<int>(event.api) << " " << event.address << " " << trace::index(event.shape) << "\n";
  }
  return text.str();
}

// A new version adds files; with TARE_WRITE_GOLDEN set, missing ones of this version are written.
TEST(Golden, EveryVersionIsRead) {
  const std::filesystem::path folder = TARE_SOURCE_DIR "/tests/trace/file/golden";
  if (std::getenv("TARE_WRITE_GOLDEN") != nullptr) {
    const std::string prefix = (folder / ("v" + std::to_string(trace::kTraceVersion) + "-")).string();
    for (const auto& [name, write] :
         {std::pair{"example", &write_example_trace}, std::pair{"observed", &write_observed_trace},
          std::pair{"rich", &write_rich_trace}, std::pair{"segment", &write_segment_trace},
          std::pair{"contents", &write_content_trace}}) {
      if (std::filesystem::exists(prefix + name + ".tare")) continue;
      write(prefix + name + ".tare");
      std::ofstream(prefix + name + ".txt") << describe(prefix + name + ".tare");
    }
  }
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".tare") continue;
    ++found;
    SCOPED_TRACE(entry.path());
    std::ostringstream expected;
    expected << std::ifstream(std::filesystem::path(entry.path()).replace_extension(".txt")).rdbuf();
    EXPECT_EQ(describe(entry.path()), expected.str());
  }
  EXPECT_GE(found, 3);
}

}  // namespace
}  // namespace tare::test
