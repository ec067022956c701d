// Growth of real containers, recorded by the recorder and replayed while the program ran.
#include <gtest/gtest.h>

#include <string>

#include "core/columns/table_cache.h"
#include "core/launcher/launcher.h"
#include "core/tables/replay.h"
#include "support/temp_dir.h"
#include "trace/open/open_trace.h"

namespace tare::core {
namespace {

struct Growth {
  double chains = 0, steps = 0, slow_steps = 0, requested = 0, rounded = 0, doubling = 0, copied = 0;
};

class RecordedGrowth : public testing::Test {
 protected:
  Tables record(const std::string& what) {
    LaunchOptions options;
    options.command = {GROWING_PROGRAM, what};
    options.output = temp_ / (what + ".tare");
    options.recorder_library = RECORDER_LIBRARY;
    const auto outcome = launch(options);
    if (!outcome) {
      ADD_FAILURE() << outcome.error().message;
      return {};
    }
    for (const std::string& warning : outcome->warnings) ADD_FAILURE() << warning;
    auto cached = TableCache(options.output).load("tables");
    EXPECT_TRUE(cached) << "the summary of the recording is in the cache";

    // From the file: a second replay must find the same.
    const auto opened = trace::open_trace(options.output);
    if (!opened) {
      ADD_FAILURE() << opened.error().message;
      return {};
    }
    Replay replay(opened->dictionary(), opened->info());
    EXPECT_TRUE(opened->replay_into(replay));
    Tables tables = replay.finish(opened->clock_pairs());
    if (cached) {
      for (const char* table : {"site_sizes", "growth", "stacks", "locations", "modules"}) {
        EXPECT_EQ((*cached)[table], tables[table]) << table;
      }
    }
    EXPECT_EQ(tables["process"]["impossible_events"].ints[0], 0);
    EXPECT_EQ(tables["process"]["complete"].ints[0], 1);
    return tables;
  }

  // Of the chain row that grew to the largest size.
  static Growth largest(const Tables& tables, std::string_view kind) {
    const Table& chains = tables["growth"];
    std::int64_t most = -1;
    Growth found;
    for (std::size_t row = 0; row < chains.rows(); ++row) {
      const std::int64_t size = chains["max_requested_bytes"].ints[row];
      if (chains["kind"].text(row) != kind || size <= most) continue;
      most = size;
      const auto value = [&](const char* column) { return chains[column].doubles[row]; };
      found = {value("grown_blocks"),     value("steps"),          value("slow_steps"),  value("requested_bytes"),
               value("rounded_4k_bytes"), value("doubling_bytes"), value("copied_bytes")};
    }
    return found;
  }

  test::TempDir temp_;
};

TEST_F(RecordedGrowth, AVectorOfNumbers) {
  const Growth growth = largest(record("vector"), "malloc-copy-free");
  EXPECT_EQ(growth.chains, 1);
  EXPECT_EQ(growth.steps, 17);  // 1 to 131,072 ints
  EXPECT_EQ(growth.slow_steps, 0);
  EXPECT_EQ(growth.requested, 4.0 * (262'144 - 1));
  EXPECT_EQ(growth.copied, 4.0 * (131'072 - 1));
}

TEST_F(RecordedGrowth, AString) {
  const Growth growth = largest(record("string"), "malloc-copy-free");
  EXPECT_EQ(growth.chains, 1);
  EXPECT_EQ(growth.steps, 12);  // 30 + 1 characters doubled 12 times
  EXPECT_EQ(growth.slow_steps, 0);
}

TEST_F(RecordedGrowth, AVectorOfObjectsThatOwnMemory) {
  const Growth growth = largest(record("strings"), "malloc-copy-free");
  EXPECT_EQ(growth.chains, 1);
  EXPECT_EQ(growth.steps, 10);  // 1 to 1,024 strings of 32 bytes
  EXPECT_EQ(growth.requested, 32.0 * (2048 - 1));
}

TEST_F(RecordedGrowth, ByteByByteShowsThePostsNumbers) {
  const Tables tables = record("bytes");
  const Growth growth = largest(tables, "realloc");
  EXPECT_EQ(growth.chains, 1);
  EXPECT_EQ(growth.steps, (1 << 20) - 1);
  EXPECT_EQ(growth.requested, 549'756'338'176.0);
  EXPECT_EQ(growth.rounded, 134'742'016.0);
  EXPECT_EQ(growth.doubling, 2'093'056.0);
  EXPECT_EQ(tables["process"]["realloc_events"].ints[0], (1 << 20) - 1);
}

}  // namespace
}  // namespace tare::core
