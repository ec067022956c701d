// Programs of a collected heap beside a model of it (tests/lib/gc/graph_program.h), whose decisions are the input's
// bytes. The first says how the heap is marked, and
// whether it has a young generation.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "lib/gc/graph_program.h"
#include "lib/gc/groups.h"

namespace {

class BytesAsChoices final : public tare::gc::testing::GraphChoices {
 public:
  BytesAsChoices(const std::uint8_t* data, std::size_t size) : next_(data), end_(data + size) {}
  std::size_t pick(std::size_t n) override {
    std::size_t value = 0;
    for (std::size_t most = 1; most < n && next_ != end_; most *= 256) value = value * 256 + *next_++;
    return value % n;
  }
  bool is_over() const override { return next_ == end_; }

 private:
  const std::uint8_t* next_;
  const std::uint8_t* end_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  constexpr tare::gc::Marking kWays[] = {tare::gc::Marking::AtOnce, tare::gc::Marking::Incremental,
                                         tare::gc::Marking::Concurrent};
  BytesAsChoices choices(data + 1, size - 1);
  try {
    if (data[0] % 6 < 3) {
      tare::gc::testing::GraphProgram<tare::gc::DefaultGroup>(choices, kWays[data[0] % 3]).run();
    } else {
      tare::gc::testing::GraphProgram<tare::gc::testing::GenerationalGroup>(choices, kWays[data[0] % 3]).run();
    }
  } catch (const std::logic_error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::abort();
  }
  return 0;
}
