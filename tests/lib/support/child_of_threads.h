// Children forked while other threads are busy in the library: each must do its work, and not hang.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace tare::testing {

// Forks `children` times, one after another, while `busy` is called over and over by each of `threads` threads, and
// calls `body` in each child. 0 if all children gave 0; else what the first other one gave, or 1,000 and the signal
// that ended it: SIGALRM, 14, if it hung.
inline int in_children_of_threads(int children, int threads, const std::function<void(int)>& busy,
                                  const std::function<int()>& body) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> others;
  for (int i = 0; i < threads; ++i) {
    others.emplace_back([&, i] {
      while (!stop.load(std::memory_order_relaxed)) busy(i);
    });
  }
  constexpr unsigned kHungSeconds = 5;
  int wrong = 0;
  for (int i = 0; i < children && wrong == 0; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(kHungSeconds);
      _exit(body());
    }
    int status = 0;
    waitpid(child, &status, 0);
    wrong = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }
  stop = true;
  for (std::thread& other : others) other.join();
  return wrong;
}

}  // namespace tare::testing
