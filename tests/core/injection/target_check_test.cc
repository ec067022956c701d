// Processes that are refused, and lines of /proc/PID/status.
#include "core/injection/target_check.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace tare::core {
namespace {

TEST(NumberInStatus, IsThatOfAWholeName) {
  const std::string_view status = "Name:\tSeccomp:\t9\nTracerPid:\t17\nSeccomp:\t2\nSeccomp_filters:\t3\nUmask:\n";
  EXPECT_EQ(number_in_status(status, "TracerPid"), 17);
  EXPECT_EQ(number_in_status(status, "Seccomp"), 2);
  EXPECT_EQ(number_in_status(status, "Seccomp_filters"), 3);
  EXPECT_EQ(number_in_status(status, "Name"), std::nullopt);
  EXPECT_EQ(number_in_status(status, "Umask"), std::nullopt);
  EXPECT_EQ(number_in_status(status, "Tracer"), std::nullopt);
  EXPECT_EQ(number_in_status("", "Seccomp"), std::nullopt);
  EXPECT_EQ(number_in_status("\nSeccomp:", "Seccomp"), std::nullopt);
}

class Child {
 public:
  template <typename Body>
  explicit Child(Body body) {
    pid_ = ::fork();
    if (pid_ == 0) {
      body();
      while (true) ::pause();
    }
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }
  void wait_for(int options) const {
    siginfo_t info;
    ::waitid(P_PID, static_cast<id_t>(pid_), &info, options | WNOWAIT);
  }

 private:
  pid_t pid_;
};

std::string refusal(pid_t pid) {
  const Result<Filters> checked = check_target(pid);
  return checked ? "" : checked.error().message;
}

TEST(CheckTarget, AcceptsAProcess) {
  const Child child([] {});
  EXPECT_EQ(refusal(child.pid()), "");
}

TEST(CheckTarget, RefusesOneThatEnded) {
  const Child child([] { ::_exit(0); });
  child.wait_for(WEXITED);
  EXPECT_NE(refusal(child.pid()).find("it has ended"), std::string::npos);
  EXPECT_NE(refusal(-1).find("it has ended"), std::string::npos);
}

TEST(CheckTarget, RefusesOneThatIsStopped) {
  const Child child([] { ::raise(SIGSTOP); });
  child.wait_for(WSTOPPED);
  EXPECT_NE(refusal(child.pid()).find("it is stopped"), std::string::npos);
}

TEST(CheckTarget, RefusesStrictMode) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const Child child([&] {
    const bool is_strict = ::prctl(PR_SET_SECCOMP, 1) == 0;
    (void)!::write(ready[1], &is_strict, 1);
    const volatile bool stays = is_strict;  // clang leaves out a loop without an end or an effect
    while (stays) continue;
  });
  bool is_strict = false;
  ASSERT_EQ(::read(ready[0], &is_strict, 1), 1);
  if (is_strict) {
    EXPECT_NE(refusal(child.pid()).find("strict mode"), std::string::npos);
  }
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(CheckLibc, RefusesAProcessWithoutGlibc) {
  EXPECT_FALSE(check_libc(::getpid(), LoadedObjects(::getpid(), 0, {})));
  EXPECT_TRUE(check_libc(::getpid(), *LoadedObjects::of(::getpid())));
}

}  // namespace
}  // namespace tare::core
