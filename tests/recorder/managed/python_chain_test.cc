// A chain that is compared with the last one is the chain as it is read from memory, after any change of frames.
// SPDX-License-Identifier: Apache-2.0
#include "recorder/managed/python_chain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

namespace tare::recorder {
namespace {

constexpr std::uint32_t kRoom = 64;

// An interpreter's memory: a thread state, frames, code objects, and marks, in words. A frame's first words are code,
// instruction, caller, and the byte of its kind.
class Interpreter {
 public:
  explicit Interpreter(PythonChain chain) {
    runtime_.layout.chain = chain;
    runtime_.layout.mark = 8;
    runtime_.layout.mark_previous = 0;
    runtime_.layout.frame_instruction = 8;
    runtime_.layout.frame_previous = 16;
    runtime_.layout.frame_is_entry = runtime_.layout.frame_owner = 28;
    runtime_.layout.code_lines = 0;
    if (chain == PythonChain::MarkedEntries) {
      runtime_.layout.has_current_in_mark = true;
      runtime_.layout.mark_current = 8;
    }
    for (std::size_t i = 0; i < codes_.size(); ++i) codes_[i] = 1000 + i;
  }

  void call(std::size_t place, std::size_t code, bool is_new_call) {
    stack_.push_back({place, is_new_call});
    frames_[place][0] = address(&codes_[code]);
    frames_[place][1] = 1;
  }
  void leave() { stack_.pop_back(); }
  void go_on(std::size_t depth) { ++frames_[stack_[depth].place][1]; }
  void replace_code(std::size_t code) { codes_[code] += 100; }
  std::size_t depth() const { return stack_.size(); }
  bool uses(std::size_t place) const {
    for (const Activation& each : stack_) {
      if (each.place == place) return true;
    }
    return false;
  }

  // As CPython has it between two instructions.
  std::uint64_t thread_state() {
    std::uint64_t outer = 0;
    std::uint64_t mark = 0;
    for (std::size_t i = 0; i < stack_.size(); ++i) {
      auto& frame = frames_[stack_[i].place];
      const bool is_entry = i == 0 || stack_[i].is_new_call;
      if (is_entry && runtime_.layout.chain != PythonChain::Objects) {
        marks_[i] = {mark, 0, outer, 0};
        mark = address(&marks_[i]);
        if (runtime_.layout.chain == PythonChain::EntryFrames) {
          marks_[i][3] = std::uint64_t{3} << 32;
          outer = mark;
        }
      }
      frame[2] = outer;
      frame[3] = runtime_.layout.chain == PythonChain::MarkedEntries && is_entry ? std::uint64_t{1} << 32 : 0;
      outer = address(&frame);
    }
    if (runtime_.layout.chain == PythonChain::MarkedEntries && mark != 0) {
      (*reinterpret_cast<std::array<std::uint64_t, 4>*>(mark))[1] = outer;
      outer = mark;
    }
    state_ = {outer, mark};
    return address(&state_);
  }
  const PythonRuntime& runtime() const { return runtime_; }

 private:
  struct Activation {
    std::size_t place;
    bool is_new_call;
  };
  static std::uint64_t address(const void* object) { return reinterpret_cast<std::uint64_t>(object); }

  PythonRuntime runtime_{};
  std::array<std::uint64_t, 2> state_{};
  std::array<std::array<std::uint64_t, 6>, 2 * kRoom> frames_{};
  std::array<std::array<std::uint64_t, 4>, 2 * kRoom> marks_{};
  std::array<std::uint64_t, 9> codes_{};
  std::vector<Activation> stack_;
};

// The outermost first.
std::vector<PythonFrame> whole(const PythonChainRead& read, const PythonChainRoom& room, const KnownChain& last) {
  std::vector<PythonFrame> frames(last.frames, last.frames + read.known);
  for (std::uint32_t i = read.frames; i-- > 0;) frames.push_back(room.frames[i]);
  return frames;
}

class Chains : public testing::TestWithParam<PythonChain> {};

TEST_P(Chains, AreTheSameWithAndWithoutTheLastOne) {
  Interpreter interpreter(GetParam());
  std::mt19937 random(7);
  std::vector<PythonFrame> last;
  std::vector<PythonFrame> fresh(kRoom);
  const PythonChainRoom room{fresh.data(), kRoom};
  std::uint64_t known = 0;
  std::uint64_t cut = 0;
  for (int step = 0; step < 40'000; ++step) {
    const bool grows = step / 1'000 % 2 == 0;
    for (std::uint32_t change = random() % 4; change > 0; --change) {
      const std::uint32_t kind = random() % 8;
      if (interpreter.depth() == 0 || (kind < (grows ? 4u : 3u) && interpreter.depth() < kRoom + 8)) {
        // The next place on the interpreter's stack, or a generator's anywhere.
        std::size_t place = interpreter.depth();
        if (random() % 8 == 0 || interpreter.uses(place)) place = random() % (2 * kRoom);
        if (!interpreter.uses(place)) interpreter.call(place, random() % 9, random() % 3 == 0);
      } else if (kind < 6) {
        interpreter.leave();
      } else if (kind == 6) {
        interpreter.go_on(random() % 4 == 0 ? random() % interpreter.depth() : interpreter.depth() - 1);
      } else if (random() % 50 == 0) {
        interpreter.replace_code(random() % 9);
      }
    }
    const std::uint64_t state = interpreter.thread_state();
    const PythonChainRead plain = read_python_chain(interpreter.runtime(), state, {}, room);
    const std::vector<PythonFrame> expected = whole(plain, room, {});
    EXPECT_EQ(plain.known, 0U);
    EXPECT_EQ(expected.size(), std::min<std::size_t>(interpreter.depth(), kRoom));
    EXPECT_EQ(plain.end, interpreter.depth() > kRoom ? ChainEnd::Cut : ChainEnd::Whole);
    const KnownChain before{last.data(), static_cast<std::uint32_t>(last.size())};
    const PythonChainRead compared = read_python_chain(interpreter.runtime(), state, before, room);
    ASSERT_EQ(compared.end, plain.end);
    ASSERT_TRUE(whole(compared, room, before) == expected) << "step " << step;
    known += compared.known;
    cut += compared.end == ChainEnd::Cut ? 1 : 0;
    last = compared.end == ChainEnd::Cut ? std::vector<PythonFrame>{} : expected;
  }
  EXPECT_GT(known, 100'000U);  // both ways were taken
  EXPECT_GT(cut, 100U);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Chains,
                         testing::Values(PythonChain::Objects, PythonChain::ObjectsAndMarks, PythonChain::MarkedEntries,
                                         PythonChain::EntryFrames));

}  // namespace
}  // namespace tare::recorder
