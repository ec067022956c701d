// Forks with 1,000 blocks of 1,000 bytes live while a second thread allocates and frees; the child frees 400 of them,
// and both go on.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

int main() {
  static void* volatile blocks[1000];
  for (auto& block : blocks) block = std::malloc(1000);
  std::atomic<bool> stop{false};
  std::atomic<int> rounds{0};
  std::thread busy([&] {
    while (!stop) {
      void* volatile some[10];
      for (auto& block : some) block = std::malloc(333);
      for (auto& block : some) std::free(block);
      ++rounds;
    }
  });
  while (rounds < 1000) std::this_thread::yield();
  const pid_t child = ::fork();
  if (child == 0) {
    for (int i = 0; i < 400; ++i) std::free(blocks[i]);
    for (int i = 0; i < 10; ++i) blocks[i] = std::malloc(2000);
    std::_Exit(0);
  }
  for (int i = 500; i < 600; ++i) std::free(blocks[i]);
  ::waitpid(child, nullptr, 0);
  stop = true;
  busy.join();
}
