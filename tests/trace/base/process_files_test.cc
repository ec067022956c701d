// /proc/PID/NAME is read whole, and a process that ends in between is no error of the stream's.
#include "trace/base/process_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace tare::trace {
namespace {

TEST(ProcessFiles, AreReadWhole) {
  const std::optional<std::string> maps = read_process_file(::getpid(), "maps");
  ASSERT_TRUE(maps);
  EXPECT_NE(maps->find("[stack]"), std::string::npos);  // one of the last lines
  EXPECT_EQ(maps->back(), '\n');
}

TEST(ProcessFiles, OfNoProcessAreNone) {
  EXPECT_FALSE(read_process_file(0, "maps"));
  EXPECT_EQ(errno, ENOENT);
}

// A second opening of a file of the ended process: opened while the process lived, read when it has gone.
TEST(ProcessFiles, OfAProcessThatEndsWhileBeingReadAreNone) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const int file = ::open(("/proc/" + std::to_string(child) + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  const std::string again = "/proc/self/fd/" + std::to_string(file);
  EXPECT_TRUE(read_kernel_file(again));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(read_kernel_file(again));
  EXPECT_EQ(errno, ESRCH);
  EXPECT_FALSE(process_stat(child));
  ::close(file);
}

TEST(ProcessFiles, StateAndParentFollowTheName) {
  const std::optional<ProcessStat> stat = process_stat(::getpid());
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->state, 'R');
  EXPECT_EQ(stat->parent, ::getppid());
  const std::optional<ProcessStat> odd = parse_process_stat("12 (a) S 99 (b)) Z 34 12 12");
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->state, 'Z');
  EXPECT_EQ(odd->parent, 34);
}

TEST(ProcessFiles, CutShortAreRefused) {
  const std::string_view whole = "12 (name) S 34";
  for (std::size_t size = 0; size < whole.size() - 1; ++size) {
    EXPECT_FALSE(parse_process_stat(whole.substr(0, size))) << size;
  }
}

}  // namespace
}  // namespace tare::trace
