// The gate: nobody gets further ahead than the window, and nobody past the step that is held.
#include "allocator_replay/perform/gate.h"

#include <gtest/gtest.h>

#include <thread>

#include "allocator_replay/perform/performed_script.h"

namespace tare::test {
namespace {

using perform::Gate;
using perform::kWindowSteps;

TEST(Gate, LetsAThreadGoAsFarAsTheWindow) {
  const TempDir dir;
  const perform::ScriptFile script(script_of({.threads = 2, .calls = 2'000}, dir).c_str());
  Gate gate(script);
  gate.release();
  gate.say(0, 100);
  EXPECT_EQ(gate.pass(1, 200), 100 + kWindowSteps);
  EXPECT_EQ(gate.floor(), 100u);
  gate.end(0);
  EXPECT_EQ(gate.floor(), 200u);
  EXPECT_EQ(gate.pass(1, 50'000), 50'000 + kWindowSteps);
  gate.end(1);
  EXPECT_EQ(gate.floor(), Gate::kEnded);
}

TEST(Gate, HoldsAllAtTheChosenStep) {
  const TempDir dir;
  const perform::ScriptFile script(script_of({.threads = 1, .calls = 2'000}, dir).c_str());
  Gate gate(script);
  const std::uint64_t held = gate.held_at();
  ASSERT_EQ(held, script.header().peak_order);
  ASSERT_GT(held, 0u);
  EXPECT_EQ(gate.pass(0, held - 1), held);
  std::atomic<bool> passed{false};
  std::thread thread([&] {
    gate.pass(0, held);
    passed = true;
  });
  while (gate.floor() < held) sched_yield();
  EXPECT_FALSE(passed);
  gate.release();
  thread.join();
  EXPECT_TRUE(passed);
}

}  // namespace
}  // namespace tare::test
