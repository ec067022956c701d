// Performing: every block is asked for and given back, whoever's it is; nothing is lost between threads.
#include "allocator_replay/perform/performer.h"

#include <gtest/gtest.h>

#include <map>

#include "allocator_replay/perform/performed_script.h"
#include "support/trace_samples.h"
#include "trace/open/open_trace.h"

namespace tare::test {
namespace {

using perform::Allocator;
using perform::Gate;
using perform::ScriptFile;
using perform::Stage;

struct Performed {
  std::uint64_t usable_bytes = 0;
  std::uint64_t blocks = 0;
};

// Blocks that are live at the end are freed, so that the leak checker reports a block that got lost.
Performed perform_script(const std::string& path, Allocator allocator, double speed = 0) {
  const ScriptFile script(path.c_str());
  Gate gate(script);
  gate.release();
  std::vector<std::atomic<void*>> slots(script.header().slot_count);
  Stage stage{script, gate, slots.data(), allocator, speed, perform::now_ns()};
  perform_all(stage);
  EXPECT_EQ(gate.floor(), Gate::kEnded);
  EXPECT_EQ(stage.failed_calls.load(), 0u);
  Performed performed;
  performed.usable_bytes = perform::usable_bytes(stage);
  for (std::atomic<void*>& slot : slots) {
    if (slot.load() == nullptr) continue;
    ++performed.blocks;
    if (perform::is_block(slot.load())) free(slot.load());
  }
  return performed;
}

TEST(Performer, EndsWithTheBlocksThatTheProgramHad) {
  const TempDir dir;
  const std::string path = script_of({.threads = 4, .calls = 30'000, .seed = 3}, dir);
  // counted from the script itself
  auto opened = trace::open_trace(dir / "spool");
  ASSERT_TRUE(opened);
  struct Live : trace::EventSink {
    explicit Live(const trace::Dictionary& of) : dictionary(of) {}
    void consume(std::span<const trace::Event> events) override {
      for (const trace::Event& event : events) {
        using enum trace::EventKind;
        if (event.kind == Alloc || event.kind == ReallocStart)
          bytes[event.address] = dictionary.shapes[trace::index(event.shape)].requested_bytes;
        if (event.kind == Free || event.kind == ReallocEnd) bytes.erase(event.address);
      }
    }
    const trace::Dictionary& dictionary;
    std::map<std::uint64_t, std::uint64_t> bytes;
  } live(opened->dictionary());
  ASSERT_TRUE(opened->replay_into(live));
  std::uint64_t requested = 0;
  for (const auto& [address, bytes] : live.bytes) requested += bytes;

  const Performed performed = perform_script(path, Allocator::Called);
  EXPECT_EQ(performed.blocks, live.bytes.size());
  EXPECT_GE(performed.usable_bytes, requested);
  EXPECT_LE(performed.usable_bytes, requested + 64 * performed.blocks + requested / 8);
}

// Random programs with a random remedy for each shape: no step waits for a block that never comes, none writes to freed
// memory (address sanitizer), and none is lost (leak checker).
TEST(Performer, PerformsRewrittenScripts) {
  for (const std::uint64_t seed : {1, 2, 3, 4, 5, 6, 7, 8}) {
    const TempDir dir;
    core::RewriteRules rules;
    for (std::uint64_t shape = 0; shape < 40'000; ++shape) {
      const std::uint64_t chosen = (shape * 7919 + seed) % (core::kLastRemedy + 1);
      rules.of_shape.push_back({static_cast<core::Remedy>(chosen), static_cast<std::uint32_t>(shape % 5), 40,
                                chosen == 10 ? shape * 100 : 24, 0.5});
    }
    const std::string path = script_of({.threads = 4, .calls = 30'000, .seed = seed}, dir, rules);
    EXPECT_GT(perform_script(path, Allocator::Called).blocks, 0u);
    EXPECT_GT(perform_script(path, Allocator::LeftAlone).blocks, 0u);
  }
}

TEST(Performer, LeavesTheAllocatorAloneWhereAsked) {
  const TempDir dir;
  const std::string path = script_of({.threads = 2, .calls = 5'000}, dir);
  const Performed performed = perform_script(path, Allocator::LeftAlone);
  EXPECT_EQ(performed.usable_bytes, 0u);
  EXPECT_GT(performed.blocks, 0u);
}

TEST(Performer, KeepsTheRecordingsTimeWhereAsked) {
  const TempDir dir;
  // ticks are nanoseconds here or faster: a millisecond at most
  const std::string path = script_of({.threads = 2, .calls = 5'000, .stamp_step = 20'000}, dir);
  const ScriptFile script(path.c_str());
  const std::uint64_t last_ns = script.time_ns(static_cast<std::uint32_t>(script.header().step_count - 1));
  ASSERT_GT(last_ns, 0u);
  const std::uint64_t start = perform::now_ns();
  perform_script(path, Allocator::Called, 1);
  EXPECT_GE(perform::now_ns() - start, last_ns);
}

TEST(PerformerDeathTest, RefusesWhatIsNoScript) {
  const TempDir dir;
  write_file(dir / "text", std::vector<std::uint8_t>(4096, 'x'));
  EXPECT_EXIT(ScriptFile((dir / "text").c_str()), testing::ExitedWithCode(3), "is no script of calls");
  EXPECT_EXIT(ScriptFile((dir / "none").c_str()), testing::ExitedWithCode(3), "No such file");
  std::vector<std::uint8_t> bytes = read_file(script_of({.calls = 3'000}, dir));
  bytes.resize(bytes.size() - 8);
  write_file(dir / "cut", bytes);
  EXPECT_EXIT(ScriptFile((dir / "cut").c_str()), testing::ExitedWithCode(3), "is cut off");
}

}  // namespace
}  // namespace tare::test
