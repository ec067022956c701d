// Objects that the scan of the stack keeps alive, and objects that it doesn't.
#include <memory>
#include <random>
#include <vector>

#include "groups.h"
#include "heap_fixture.h"
#include "lib/support/sanitized.h"

#if defined(__x86_64__)
// tare_test_with_REGISTER(call, context, hidden): calls call(context) while the register has ~hidden, which nobody else
// has; returns what it has afterwards, hidden again.
#define TARE_TEST_WITH(name)                                                                                         \
  asm(".text\n.type tare_test_with_" #name ", @function\ntare_test_with_" #name ":\npush %" #name                    \
      "\nmov %rdx, %" #name "\nnot %" #name                                                                          \
      "\nxor %edx, %edx\nmov %rdi, %rax\nmov %rsi, %rdi\ncall *%rax\n"                                               \
      "mov %" #name ", %rax\nnot %rax\npop %" #name "\nret\n.size tare_test_with_" #name ", .-tare_test_with_" #name \
      "\n");                                                                                                         \
  extern "C" std::uintptr_t tare_test_with_##name(void (*call)(void*), void* context, std::uintptr_t hidden);
TARE_TEST_WITH(rbx)
TARE_TEST_WITH(rbp)
TARE_TEST_WITH(r12)
TARE_TEST_WITH(r13)
TARE_TEST_WITH(r14)
TARE_TEST_WITH(r15)
#undef TARE_TEST_WITH
#endif

namespace tare::gc {
namespace {

using namespace testing;

class StackScan : public HeapTest {
 public:
  void scan() { heap_.collect(StackState::MayHoldPointers); }
};

TEST_F(StackScan, FindsLocals) {
  Knot* knot = make_one<Knot>(5);
  knot->left = make_one<Knot>(6);
  scan();
  EXPECT_EQ(knot->value, 5);
  EXPECT_EQ(knot->left->value, 6);
}

TEST_F(StackScan, FindsMembersOnTheStack) {
  volatile std::uint32_t halves[2] = {0, 0};
  [&]() __attribute__((noinline)) { halves[1] = Member<Knot>(make_one<Knot>(7)).bits(); }();
  scan();
  EXPECT_EQ(Member<Knot>::from_bits(halves[1])->value, 7);
}

#if defined(__x86_64__)
TEST_F(StackScan, FindsWhatOnlyARegisterHolds) {
  std::uintptr_t (*const ways[])(void (*)(void*), void*, std::uintptr_t) = {tare_test_with_rbx, tare_test_with_rbp,
                                                                            tare_test_with_r12, tare_test_with_r13,
                                                                            tare_test_with_r14, tare_test_with_r15};
  const auto weak = std::make_unique<WeakPersistent<Knot>>();  // not on the stack
  for (const auto way : ways) {
    std::uintptr_t hidden = 0;
    [&]() __attribute__((noinline)) {
      Knot* knot = make_one<Knot>(6);
      *weak = knot;
      hidden = ~reinterpret_cast<std::uintptr_t>(knot);
    }();
    [&]() __attribute__((noinline)) {
      volatile char clean[4096];
      for (volatile char& c : clean) c = 0;
    }();
    hidden = way([](void* test) { static_cast<StackScan*>(test)->scan(); }, this, hidden);
    ASSERT_NE(weak->get(), nullptr);
    EXPECT_EQ((*weak)->value, 6);
    EXPECT_EQ(reinterpret_cast<Knot*>(~hidden), weak->get());
  }
}
#endif

TEST_F(StackScan, FindsPointersIntoObjects) {
  volatile int* value = nullptr;
  [&]() __attribute__((noinline)) { value = &make_one<Knot>(8)->value; }();
  scan();
  EXPECT_EQ(*value, 8);
}

struct Numbers : GarbageCollected<Numbers> {
  explicit Numbers(std::uint32_t n) : count(n) {}
  void trace(Visitor&) const {}
  std::uint32_t* begin() { return reinterpret_cast<std::uint32_t*>(this + 1); }
  std::uint32_t count;
};

// Of objects that fill their cells, the last of a page and such with pages of their own among them: what loops that
// count down or whose index is negative have in hand.
TEST_F(StackScan, FindsPointersBehindObjects) {
  for (const std::size_t cell_bytes : {std::size_t{16}, std::size_t{128}, cell::kMostInOneUnit, cell::kMost}) {
    const std::size_t count = (cell_bytes - sizeof(CellHeader) - sizeof(Numbers)) / sizeof(std::uint32_t);
    const std::size_t objects = cell::kLargeUnits * cell::kUnitBytes / cell_bytes;
    for (std::size_t before = 0; before < objects; before += objects / 8) {
      for (std::size_t i = 0; i < before; ++i) {
        static_cast<void>(make_one<Numbers>(AdditionalBytes(count * sizeof(std::uint32_t)), 0u));
      }
      volatile std::uintptr_t end = 0;
      const auto weak = std::make_unique<WeakPersistent<Numbers>>();  // not on the stack
      [&]() __attribute__((noinline)) {
        auto* numbers =
            make_one<Numbers>(AdditionalBytes(count * sizeof(std::uint32_t)), static_cast<std::uint32_t>(count));
        end = reinterpret_cast<std::uintptr_t>(numbers->begin() + count);
        *weak = numbers;
      }();
      [&]() __attribute__((noinline)) {
        volatile char clean[4096];
        for (volatile char& c : clean) c = 0;
      }();
      scan();
      ASSERT_NE(weak->get(), nullptr) << cell_bytes << ", " << before;
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(weak->get()->begin() + count), end);
    }
  }
  // With a page of its own, to the page's end: 64 KiB without what lies before the object.
  constexpr std::size_t kBytes = cell::kUnitBytes - cell::kFirstObject - sizeof(Numbers);
  volatile std::uintptr_t end = 0;
  const auto weak = std::make_unique<WeakPersistent<Numbers>>();
  [&]() __attribute__((noinline)) {
    auto* numbers = make_one<Numbers>(AdditionalBytes(kBytes), 0u);
    end = reinterpret_cast<std::uintptr_t>(numbers->begin()) + kBytes;
    *weak = numbers;
  }();
  [&]() __attribute__((noinline)) {
    volatile char clean[4096];
    for (volatile char& c : clean) c = 0;
  }();
  scan();
  EXPECT_NE(weak->get(), nullptr);
  EXPECT_EQ(end % cell::kUnitBytes, 0u);
}

TEST_F(StackScan, FindsParametersAtEveryDepth) {
  struct Deep {
    static int go(StackScan& test, Knot* a, Knot* b, Knot* c, Knot* d, Knot* e, Knot* f, Knot* g, Knot* h, int depth) {
      if (depth == 0) {
        test.scan();
      } else {
        go(test, b, c, d, e, f, g, h, a, depth - 1);
      }
      return a->value + b->value + c->value + d->value + e->value + f->value + g->value + h->value;
    }
  };
  Knot* knots[8];
  for (int depth = 0; depth <= 8; ++depth) {
    for (int i = 0; i < 8; ++i) knots[i] = make_one<Knot>(1 << i);
    EXPECT_EQ(Deep::go(*this, knots[0], knots[1], knots[2], knots[3], knots[4], knots[5], knots[6], knots[7], depth),
              255);
  }
}

// Words that a test lays out on the stack while a collection runs.
template <std::size_t kCount>
[[gnu::noinline]] std::size_t kept_with(HeapBase& heap, const std::vector<std::uint64_t>& words) {
  volatile std::uint64_t junk[kCount];
  for (std::size_t i = 0; i < kCount; ++i) junk[i] = words[i];
  heap.collect(StackState::MayHoldPointers);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kCount; ++i) sum += junk[i];
  return sum == 1 ? 0 : heap.use().last_stack_roots;
}

struct Dead : GarbageCollected<Dead> {
  void trace(Visitor&) const {}
  char bytes[256];
};

// 1 GiB of dead objects: what 40,000 words keep of them, at most 20 and 50 for each 10,000. Oilpan keeps 2,419 for
// native pointers in a cage of 4 GiB, and 1,210 for numbers. Where the cage lies decides how many are hit, some 13 of
// each 10,000: of so few as 10,000 words one run in forty keeps more than 20 by chance.
TEST_F(StackScan, KeepsFewOfTheDeadForWhatOnlyLooksLikePointers) {
  if (kSanitized) GTEST_SKIP() << "a GiB takes too long";
  constexpr std::size_t kWords = 40'000;
  HeapOptions options;
  options.collections = Collections::ByHand;
  std::mt19937_64 random(2026);
  std::vector<std::uint64_t> words(kWords);
  const auto kept = [&](auto next) {
    heap_ = Heap();
    heap_ = std::move(Heap::create(options).value());  // not verified: it would walk them all
    for (std::size_t i = 0; i < (std::size_t{1} << 30) / 264; ++i) static_cast<void>(make_one<Dead>());
    for (std::uint64_t& word : words) word = next();
    return kept_with<kWords>(heap_, words);
  };
  // The frames of the test itself may hold some.
  EXPECT_LE(kept([&] { return 0x7f00'0000'0000 + (random() & 0xff'ffff'fff8); }), 4 * 20u);
  EXPECT_LE(kept([&] { return random() & 0xffff'ffff; }), 4 * 50u);
  EXPECT_LE(kept([&] { return random() & 0x1fff; }), 4 * 5u);
}

TEST_F(StackScan, IgnoresHalvesThatPointIntoObjects) {
  volatile std::uint32_t inner = 0;
  const auto weak = std::make_unique<WeakPersistent<Dead>>();  // not on the stack
  [&]() __attribute__((noinline)) {
    Dead* dead = make_one<Dead>();
    *weak = dead;
    inner = Member<Dead>(dead).bits() + 2;  // 16 bytes further in
  }();
  // Other words of this frame, and what calls have left behind, may still hold the object.
  [&]() __attribute__((noinline)) {
    volatile char clean[4096];
    for (volatile char& c : clean) c = 0;
  }();
  volatile std::uint32_t kept_inner = inner;
  scan();
  EXPECT_NE(kept_inner, 0u);
  EXPECT_TRUE(kSanitized || weak->get() == nullptr);
}

}  // namespace
}  // namespace tare::gc
