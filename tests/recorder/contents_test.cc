// Blocks are filled and looked at, where that is asked for; and what the program wrote is never touched.
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "test_launcher.h"
#include "trace/model/content_digest.h"

namespace tare::test {
namespace {

using trace::Op;

struct Ended {
  std::uint64_t requested;
  std::uint64_t written;
  bool operator==(const Ended&) const = default;
};

// Every block that ended, with what was seen of it.
std::vector<Ended> ended_blocks(const SpoolImage& image) {
  std::vector<Ended> ended;
  for (const ThreadEvents& thread : image.threads()) {
    std::map<std::uint64_t, std::uint64_t> requested;
    std::map<std::uint64_t, std::uint64_t> unwritten;
    const auto end = [&](std::uint64_t address) {
      if (!requested.contains(address)) return;
      ended.push_back({requested[address], requested[address] - unwritten[address]});
      requested.erase(address);
      unwritten.erase(address);
    };
    for (const RawEvent& event : thread.events) {
      if (event.op == Op::Contents) unwritten[event.address] = event.old_length;
      if (event.op == Op::Free) end(event.address);
      if (event.op == Op::Realloc) end(event.old);
      if (event.op == Op::Alloc || event.op == Op::Realloc) requested[event.address] = event.requested;
    }
  }
  return ended;
}

RunOptions with_contents() {
  RunOptions options;
  options.environment = {"TARE_CONTENT=1"};
  return options;
}

TEST(Contents, AreSeenAsFarAsTheProgramWroteThem) {
  const RunResult result = run({program("contents")}, with_contents());
  ASSERT_TRUE(result.exited(0)) << result.errors;
  const SpoolImage& image = result.only_image();
  EXPECT_NE(image.header().flags.load() & trace::kSpoolContents, 0u);
  EXPECT_NE(image.header().content_table, 0u);
  std::vector<Ended> said;
  std::istringstream output(result.output);
  for (Ended one{}; output >> one.requested >> one.written;) said.push_back(one);
  ASSERT_EQ(said.size(), 14u);
  // The first block of the realloc after the question was written to the end of its request.
  const std::vector<Ended> seen = ended_blocks(image);
  std::size_t at = 0;
  for (const Ended& one : said) {
    SCOPED_TRACE(std::to_string(one.requested) + " " + std::to_string(one.written));
    while (at < seen.size() && !(seen[at] == one)) ++at;  // the program's libraries have blocks, too
    ASSERT_LT(at, seen.size());
    ++at;
  }
}

TEST(Contents, AreNotLookedAtWithoutBeingAsked) {
  const RunResult result = run({program("contents")});
  ASSERT_TRUE(result.exited(0)) << result.errors;
  for (const ThreadEvents& thread : result.only_image().threads()) {
    for (const RawEvent& event : thread.events) EXPECT_NE(event.op, Op::Contents);
  }
}

TEST(Contents, OfManyThreadsAndHandedOverBlocksMakeNoImpossibleEvents) {
  const std::vector<std::string> commands[] = {
      {program("tight_realloc"), "100000", "3"}, {program("handoff"), "100000"}, {program("threads"), "200", "8"}};
  for (const auto& command : commands) {
    SCOPED_TRACE(command[0]);
    const RunResult result = run(command, with_contents());
    ASSERT_TRUE(result.exited(0)) << result.errors;
    for (const SpoolImage& image : result.images) EXPECT_EQ(image.replay().impossible, 0u);
  }
}

TEST(Contents, SurviveForksAndSignalHandlers) {
  const std::vector<std::string> commands[] = {{program("forks"), "fork"},
                                               {program("forks"), "vfork"},
                                               {program("forks"), "fork-in-thread"},
                                               {program("signals"), "100000", "alternate"},
                                               {program("operators")}};
  for (const auto& command : commands) {
    SCOPED_TRACE(command[0] + " " + (command.size() > 1 ? command[1] : ""));
    const RunResult plain = run(command);
    const RunResult seen = run(command, with_contents());
    EXPECT_EQ(seen.wait_status, plain.wait_status) << seen.errors;
    for (const SpoolImage& image : seen.images) EXPECT_EQ(image.replay().impossible, 0u);
  }
}

}  // namespace
}  // namespace tare::test
