// Holders of the same bytes in several threads: nobody frees what another holds, the last one frees it. Under the
// thread and address sanitizers this finds what a wrong memory order or a lost count would do.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tare/bytes.h"

namespace tare {
namespace {

constexpr int kThreads = 4;
constexpr int kRounds = 3000;

void hold_and_let_go(Bytes bytes, const std::string& expected) {
  std::vector<Bytes> held;
  for (int i = 0; i < 8; ++i) held.push_back(i % 2 == 0 ? bytes : bytes.slice(1));
  EXPECT_TRUE(bytes.is_shared());
  EXPECT_EQ(held.back().text(), std::string_view(expected).substr(1));
}

TEST(BytesThreads, TheLastHolderFrees) {
  const std::string text(40, 't');
  std::atomic<int> released{0};
  const auto release = [](const void* data, std::size_t, void* context) {
    std::free(const_cast<void*>(data));
    static_cast<std::atomic<int>*>(context)->fetch_add(1);
  };
  for (int round = 0; round < kRounds / 10; ++round) {
    char* foreign = static_cast<char*>(std::malloc(text.size()));
    std::memcpy(foreign, text.data(), text.size());
    std::array<Bytes, 3> all{Bytes::copy(text.data(), text.size()), Bytes::copy_of_text(text),
                             Bytes::adopt(foreign, text.size(), release, &released)};
    for (Bytes& bytes : all) {
      std::vector<std::thread> threads;
      for (int i = 0; i < kThreads; ++i) threads.emplace_back(hold_and_let_go, bytes, text);
      bytes = Bytes();  // so that any of the threads may be the last
      for (std::thread& thread : threads) thread.join();
    }
    EXPECT_EQ(released.load(), round + 1);
  }
}

// One thread writes while it is alone; what it wrote is seen by whoever finds itself alone next.
TEST(BytesThreads, WhoIsAloneSeesWhatOthersDid) {
  for (int round = 0; round < kRounds / 10; ++round) {
    Bytes mine = Bytes::copy_of_text("0000000000000000");
    std::thread other([held = mine]() mutable {
      const volatile char seen = held.text()[3];
      (void)seen;
      held = Bytes();
    });
    char* writable = nullptr;
    while ((writable = mine.data_if_unique()) == nullptr) std::this_thread::yield();
    writable[3] = '1';
    EXPECT_EQ(mine.text(), "0001000000000000");
    other.join();
  }
}

}  // namespace
}  // namespace tare
