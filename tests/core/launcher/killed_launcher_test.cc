// The launcher is killed or interrupted while a program runs.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/launcher/trace_contents.h"
#include "support/temp_dir.h"
#include "trace/open/leftover_folders.h"
#include "trace/open/open_trace.h"

namespace tare::core {
namespace {

using test::TempDir;
using trace::EventKind;

// Starts launch_command on the steady victim; gives its pid, and a pipe of the victim's progress.
struct Steady {
  explicit Steady(const TempDir& dir) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
    launcher = ::fork();
    if (launcher == 0) {
      ::dup2(ends[1], 1);
      ::execl(TARE_LAUNCH_COMMAND, TARE_LAUNCH_COMMAND, TARE_RECORDER, (dir / "t.tare").c_str(), "--", TARE_VICTIM,
              "steady", "1000", static_cast<char*>(nullptr));
      ::_exit(126);
    }
    ::close(ends[1]);
    progress = ::fdopen(ends[0], "r");
  }
  ~Steady() { std::fclose(progress); }
  long read_progress(int lines) {
    char line[64] = "0";
    for (int i = 0; i < lines; ++i) {
      if (std::fgets(line, sizeof(line), progress) == nullptr) break;
    }
    return std::atol(line);
  }
  pid_t victim_pid() const {
    std::ifstream children("/proc/" + std::to_string(launcher) + "/task/" + std::to_string(launcher) + "/children");
    pid_t pid = 0;
    children >> pid;
    return pid;
  }
  pid_t launcher = 0;
  std::FILE* progress = nullptr;
};

TEST(Launcher, NothingIsLostWhenTheLauncherIsKilled) {
  for (int round = 0; round < 5; ++round) {
    TempDir dir;
    Steady steady(dir);
    steady.read_progress(1 + round * 300);
    const pid_t program = steady.victim_pid();
    ASSERT_GT(program, 0);
    ::kill(steady.launcher, SIGKILL);
    ::waitpid(steady.launcher, nullptr, 0);
    const long done = steady.read_progress(500);  // it goes on without
    ::kill(program, SIGKILL);
    while (::kill(program, 0) == 0 && std::filesystem::exists("/proc/" + std::to_string(program) + "/maps")) {
      if (std::ifstream("/proc/" + std::to_string(program) + "/stat").rdbuf()->in_avail() <= 0) break;
      std::string stat;
      std::getline(std::ifstream("/proc/" + std::to_string(program) + "/stat"), stat);
      if (stat.find(") Z") != std::string::npos || stat.empty()) break;
      ::usleep(1000);
    }
    auto opened = trace::open_trace(dir / "t.tare");
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_FALSE(opened->complete());
    Contents all = contents(dir / "t.tare");
    EXPECT_EQ(all.kinds[EventKind::Dropped], 0u);
    EXPECT_GE(all.kinds[EventKind::Alloc], static_cast<std::uint64_t>(done));
    EXPECT_LE(all.unknown_frees, 1u);
    ASSERT_EQ(opened->warnings().size(), 1u);
    const std::size_t at = opened->warnings()[0].find("/dev/shm/tare-");
    if (at != std::string::npos) {
      const std::string spool = opened->warnings()[0].substr(at, opened->warnings()[0].find(',', at) - at);
      EXPECT_TRUE(trace::remove_leftover_folder(std::filesystem::path(spool).parent_path().string())) << spool;
    }
  }
}

TEST(Launcher, AnInterruptReachesTheProgramAndTheTraceIsFinished) {
  TempDir dir;
  Steady steady(dir);
  steady.read_progress(50);
  ::kill(steady.launcher, SIGTERM);
  int status = 0;
  ::waitpid(steady.launcher, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGTERM);
  auto opened = trace::open_trace(dir / "t.tare");
  ASSERT_TRUE(opened);
  EXPECT_TRUE(opened->complete());
  ASSERT_TRUE(opened->info().wait_status);
  EXPECT_EQ(WTERMSIG(*opened->info().wait_status), SIGTERM);
}

}  // namespace
}  // namespace tare::core
