// Random programs beside a model (graph_program.h). Seeds are fixed; TARE_GC_SEEDS=N runs more of them, and
// fuzz/gc_graph.cc has a fuzzer choose.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "graph_program.h"
#include "groups.h"
#include "lib/support/sanitized.h"

namespace tare::gc {
namespace {

using namespace testing;

class RandomChoices final : public GraphChoices {
 public:
  RandomChoices(unsigned seed, int choices) : random_(seed), left_(choices) {}
  std::size_t pick(std::size_t n) override {
    if (left_ > 0) --left_;
    return is_over() ? 0 : random_() % n;
  }
  bool is_over() const override { return left_ == 0; }

 private:
  std::mt19937 random_;
  int left_;
};

// Ten seeds took 50 s of CPU under AddressSanitizer, 3 s without; fuzz/gc_graph.cc runs under it for longer.
constexpr unsigned kSeeds = kSanitized ? 3 : 10;

template <class Group>
void run_seeds(Marking marking) {
  const char* more = std::getenv("TARE_GC_SEEDS");
  const unsigned seeds = more == nullptr ? kSeeds : static_cast<unsigned>(std::atoi(more));
  std::size_t compacted_bytes = 0;
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    RandomChoices choices(seed, 60'000);
    GraphProgram<Group> program(choices, marking);
    try {
      program.run();
    } catch (const std::logic_error& error) {
      FAIL() << "seed " << seed << ": " << error.what();
    }
    compacted_bytes += program.compacted_bytes;
  }
  // If another thread marks, its share of the processor decides: on a busy machine ten seeds moved 131,072 bytes only.
  const std::size_t least = marking == Marking::Concurrent ? 0 : seeds * cell::kUnitBytes / 4;
  EXPECT_GT(compacted_bytes, least) << "arrays hardly ever moved";
}

TEST(RandomGraph, AgreesWithTheModel) { run_seeds<DefaultGroup>(Marking::AtOnce); }
TEST(RandomGraph, AgreesWithTheModelWhileItIsMarked) { run_seeds<DefaultGroup>(Marking::Incremental); }
TEST(RandomGraph, AgreesWithTheModelWhileAnotherThreadMarks) { run_seeds<DefaultGroup>(Marking::Concurrent); }
TEST(RandomGraph, AgreesWithTheModelWhereTheYoungAreCollectedAlone) { run_seeds<GenerationalGroup>(Marking::AtOnce); }
TEST(RandomGraph, AgreesWithTheModelWhereTheYoungAreCollectedBetweenSteps) {
  run_seeds<GenerationalGroup>(Marking::Incremental);
}
TEST(RandomGraph, AgreesWithTheModelWhereTheYoungAreCollectedAndAnotherThreadMarks) {
  run_seeds<GenerationalGroup>(Marking::Concurrent);
}

}  // namespace
}  // namespace tare::gc
