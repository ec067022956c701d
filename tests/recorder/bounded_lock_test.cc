// The lock whose holder may be dead: it waits for a slow holder, and not forever.
#include "recorder/base/bounded_lock.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace tare::recorder {
namespace {

// `lock` is held.
void expect_that_it_waits(BoundedLock& lock) {
  std::thread holder([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    lock.unlock();
  });
  EXPECT_TRUE(lock.lock());
  lock.unlock();
  holder.join();
}

TEST(BoundedLock, WaitsForAHolderThatStandsStill) {
  BoundedLock lock;
  ASSERT_TRUE(lock.lock());
  expect_that_it_waits(lock);
}

TEST(BoundedLock, GivesUpADeadHolderAndWorksAgainAfterAReset) {
  using Clock = std::chrono::steady_clock;
  BoundedLock lock;
  ASSERT_TRUE(lock.lock());
  const auto begin = Clock::now();
  EXPECT_FALSE(lock.lock());
  const auto first = Clock::now();
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(lock.lock());
  EXPECT_LT(Clock::now() - first, first - begin) << "each later wait is a hundredth";
  lock.reset();
  EXPECT_TRUE(lock.lock());
  lock.unlock();
}

TEST(BoundedLock, WaitsAsLongAgainAfterTheHolderCameBack) {
  BoundedLock lock;
  ASSERT_TRUE(lock.lock());
  EXPECT_FALSE(lock.lock());
  lock.unlock();
  ASSERT_TRUE(lock.lock());
  expect_that_it_waits(lock);
}

}  // namespace
}  // namespace tare::recorder
