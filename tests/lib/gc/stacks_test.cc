// Heaps whose thread runs on several stacks.
#include "tare/gc/stacks.h"

#include <ucontext.h>

#include <functional>
#include <memory>
#include <vector>

#include "heap_fixture.h"
#include "lib/support/sanitized.h"

namespace tare::gc {
namespace {

using namespace testing;

// A fibre with a stack of its own.
class Fibre {
 public:
  Fibre(Heap& heap, std::function<void(Fibre&)> run)
      : heap_(heap), memory_(kBytes), stack_(heap, memory_.data(), kBytes), run_(std::move(run)) {
    getcontext(&context_);
    context_.uc_stack.ss_sp = memory_.data();
    context_.uc_stack.ss_size = kBytes;
    context_.uc_link = &caller_;
    const auto bits = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&context_, reinterpret_cast<void (*)()>(start), 2, static_cast<unsigned>(bits >> 32),
                static_cast<unsigned>(bits));
  }
  void enter() {
    leave_stack(heap_, [this] { swapcontext(&caller_, &context_); });
  }
  void yield() {
    leave_stack(heap_, [this] { swapcontext(&context_, &caller_); });
  }

 private:
  static constexpr std::size_t kBytes = std::size_t{512} << 10;
  static void start(unsigned high, unsigned low) {
    auto& self = *reinterpret_cast<Fibre*>(std::uintptr_t{high} << 32 | low);
    self.run_(self);
  }

  Heap& heap_;
  std::vector<std::byte> memory_;
  RegisteredStack stack_;
  std::function<void(Fibre&)> run_;
  ucontext_t context_;
  ucontext_t caller_;
};

class OnStacks : public HeapTest {
 public:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "sanitizers want to be told of switches";
  }
  void scan() { heap_.collect(StackState::MayHoldPointers); }
  // Ten objects that nothing but the frame holds while `pause` runs.
  [[gnu::noinline]] int sum_after(const std::function<void()>& pause) {
    Knot* knots[10];
    for (int i = 0; i < 10; ++i) knots[i] = make_one<Knot>(1 << i);
    pause();
    int sum = 0;
    for (Knot* knot : knots) sum += knot->value;
    return sum;
  }
};

TEST_F(OnStacks, FibresAllocateAndCollect) {
  int sum = 0;
  Fibre fibre(heap_, [&](Fibre&) {
    sum = sum_after([&] {
      for (int i = 0; i < 1'000'000; ++i) static_cast<void>(make_one<Knot>(-1));
      scan();
    });
  });
  EXPECT_EQ(sum_after([&] { fibre.enter(); }), 1023);
  EXPECT_EQ(sum, 1023);
  EXPECT_GT(heap_.use().collections, 1u);
}

TEST_F(OnStacks, WhatOtherStacksHoldLives) {
  int sums[2] = {0, 0};
  std::unique_ptr<Fibre> fibres[2];
  for (int i = 0; i < 2; ++i) {
    fibres[i] = std::make_unique<Fibre>(heap_, [&, i](Fibre& self) {
      sums[i] = sum_after([&] {
        self.yield();
        scan();
        self.yield();
      });
    });
  }
  const int sum = sum_after([&] {
    for (int round = 0; round < 3; ++round) {
      for (auto& fibre : fibres) fibre->enter();
      scan();
      for (int i = 0; i < 1000; ++i) static_cast<void>(make_one<Knot>(-1));  // in what would be free
    }
  });
  EXPECT_EQ(sum, 1023);
  EXPECT_EQ(sums[0], 1023);
  EXPECT_EQ(sums[1], 1023);
}

TEST_F(OnStacks, StacksThatAreGoneKeepNothing) {
  auto fibre = std::make_unique<Fibre>(heap_, [&](Fibre& self) { sum_after([&] { self.yield(); }); });
  fibre->enter();
  scan();
  EXPECT_GE(live(), 10u);
  fibre.reset();
  collect();
  EXPECT_EQ(live(), 0u);
}

using OnStacksDeath = OnStacks;

TEST_F(OnStacksDeath, UnknownStacksEndTheProgram) {
  static OnStacksDeath* test = nullptr;
  test = this;
  EXPECT_DEATH(
      {
        static ucontext_t fibre;
        static ucontext_t caller;
        static std::byte memory[std::size_t{256} << 10];
        getcontext(&fibre);
        fibre.uc_stack.ss_sp = memory;
        fibre.uc_stack.ss_size = sizeof memory;
        fibre.uc_link = &caller;
        makecontext(&fibre, [] { test->scan(); }, 0);
        swapcontext(&caller, &fibre);
      },
      "a heap collects on a stack that it doesn't know");
}

}  // namespace
}  // namespace tare::gc
