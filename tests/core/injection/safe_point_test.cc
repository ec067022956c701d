// Threads of child processes: those inside functions that hold locks of the C library are left alone.
#include "core/injection/safe_point.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

#include "core/injection/remote_thread.h"

namespace tare::core {
namespace {

int ready[2];

// Where the child is judged: it waits in a system call that is harmless by itself.
void wait_here() {
  (void)!::write(ready[1], "", 1);
  while (true) ::pause();
}

// Whether a child that calls this is at a safe point where it waits.
bool is_safe_in(void (*body)()) {
  EXPECT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::_exit(1);
  }
  char byte;
  EXPECT_EQ(::read(ready[0], &byte, 1), 1);
  ::usleep(50'000);
  bool is_safe = false;
  {
    int error = 0;
    const std::optional<RemoteThread> thread = RemoteThread::stop(child, child, error);
    const std::optional<LoadedObjects> objects = LoadedObjects::of(child);
    EXPECT_TRUE(thread.has_value() && objects.has_value()) << error;
    if (thread && objects) is_safe = SafePoint(child, *objects).is_at(thread->registers());
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
  return is_safe;
}

TEST(SafePoint, IsAWaitInTheProgram) { EXPECT_TRUE(is_safe_in(wait_here)); }

TEST(SafePoint, IsInAComparisonOfTheProgram) {
  // qsort() holds no lock, and calls the program.
  EXPECT_TRUE(is_safe_in([] {
    int numbers[] = {2, 1};
    ::qsort(numbers, 2, sizeof(int), [](const void*, const void*) {
      wait_here();
      return 0;
    });
  }));
}

TEST(SafePoint, IsntInAListOfObjects) {
  EXPECT_FALSE(is_safe_in([] {
    ::dl_iterate_phdr(
        [](dl_phdr_info*, std::size_t, void*) {
          wait_here();
          return 0;
        },
        nullptr);
  }));
}

TEST(SafePoint, IsntAtAFork) {
  EXPECT_FALSE(is_safe_in([] {
    ::pthread_atfork(wait_here, nullptr, nullptr);
    (void)::fork();
  }));
}

TEST(SafePoint, IsntAtAnExit) {
  EXPECT_FALSE(is_safe_in([] {
    ::atexit(wait_here);
    ::exit(0);
  }));
}

TEST(SafePoint, IsInAHandlerThatInterruptedTheProgram) {
  EXPECT_TRUE(is_safe_in([] {
    ::signal(SIGALRM, [](int) { wait_here(); });
    ::ualarm(1000, 0);
    while (true) asm volatile("");
  }));
}

TEST(SafePoint, IsntInAHandlerThatInterruptedTheLibrary) {
  EXPECT_FALSE(is_safe_in([] {
    ::signal(SIGALRM, [](int) { wait_here(); });
    ::ualarm(1000, 0);
    while (true) ::pause();
  }));
}

}  // namespace
}  // namespace tare::core
