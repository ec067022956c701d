// Ways to become two processes. Argument: fork, fork-twice, fork-after-end (of the launcher), vfork, clone, fork-exec,
// fork-in-thread.
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

static void* inherited;

static void child_work(int blocks) {
  std::free(inherited);
  for (int i = 0; i < blocks; ++i) {
    if (std::malloc(777) == nullptr) std::abort();
  }
}

static void wait_all() {
  while (wait(nullptr) > 0) {
  }
}

static void fork_child(int blocks) {
  if (fork() == 0) {
    child_work(blocks);
    std::exit(0);
  }
}

int main(int, char** arguments) {
  const std::string how = arguments[1];
  inherited = std::malloc(555);
  if (how == "fork") {
    fork_child(1000);
  } else if (how == "fork-twice") {
    if (fork() == 0) {
      child_work(500);
      inherited = std::malloc(5);
      fork_child(250);
      wait_all();
      std::exit(0);
    }
  } else if (how == "fork-after-end") {
    const std::string control = std::string(std::getenv("TARE_SPOOL_DIR")) + "/control";
    if (unlink(control.c_str()) != 0) return 1;
    fork_child(1000);
  } else if (how == "vfork") {
    const pid_t child = vfork();
    if (child == 0) {
      std::free(std::malloc(321));
      _exit(0);
    }
  } else if (how == "clone") {
    const long child = syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
    if (child == 0) {
      child_work(1000);
      _exit(0);
    }
  } else if (how == "fork-exec") {
    if (fork() == 0) {
      child_work(10);
      execl("/proc/self/exe", arguments[0], "vfork", nullptr);
      _exit(1);
    }
  } else if (how == "fork-in-thread") {
    std::thread busy([] {
      for (int i = 0; i < 2'000'000; ++i) std::free(std::malloc(64));
    });
    std::thread forker([] {
      for (int i = 0; i < 20; ++i) fork_child(100);
      wait_all();
    });
    forker.join();
    busy.join();
  }
  wait_all();
  std::free(std::malloc(999));
  return 0;
}
