#include "core/process_memory/pid_numbers.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tare::core {
namespace {

TEST(PidNumbers, AreTheSameInOnesOwnNamespace) {
  EXPECT_EQ(innermost_number(::getpid(), ::getpid()), ::getpid());
  EXPECT_EQ(innermost_number(-1, 17), 17);
  EXPECT_NE(own_pid_namespace(), 0u);
}

TEST(PidNumbers, OfAnotherNamespaceAreItsOwn) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t maker = ::fork();
  if (maker == 0) {
    if (::unshare(CLONE_NEWPID) != 0) ::_exit(1);
    const pid_t first = ::fork();  // number 1 over there
    if (first == 0) {
      while (true) ::pause();
    }
    (void)!::write(ready[1], &first, sizeof first);
    ::waitpid(first, nullptr, 0);
    ::_exit(0);
  }
  ::close(ready[1]);
  pid_t first = 0;
  const bool unshared = ::read(ready[0], &first, sizeof first) == sizeof first;
  ::close(ready[0]);
  if (unshared) {
    EXPECT_EQ(innermost_number(first, first), 1);
    ::kill(first, SIGKILL);
  }
  ::waitpid(maker, nullptr, 0);
  if (!unshared) GTEST_SKIP() << "pid namespaces need root";
}

}  // namespace
}  // namespace tare::core
