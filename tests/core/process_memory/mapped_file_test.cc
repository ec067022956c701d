#include "core/process_memory/mapped_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "support/temp_dir.h"

namespace tare::core {
namespace {

class MappedFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = folder_.path() + "/1.0.spool";
    const int fd = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_EQ(::ftruncate(fd, 4096), 0);
    memory_ = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0);
    ASSERT_NE(memory_, MAP_FAILED);
    ::close(fd);
    child_ = ::fork();
    if (child_ == 0) {
      while (true) ::pause();
    }
  }
  void TearDown() override {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    ::munmap(memory_, 4096);
  }

  test::TempDir folder_;
  std::string path_;
  void* memory_ = nullptr;
  pid_t child_ = 0;
};

TEST_F(MappedFileTest, FindsThoseThatMapIt) {
  const MappedFile file(path_);
  EXPECT_EQ(file.in(child_), Mapped::Yes);
  const std::vector<pid_t> found = file.processes();
  EXPECT_EQ(std::count(found.begin(), found.end(), child_), 1);
  EXPECT_EQ(std::count(found.begin(), found.end(), ::getpid()), 0);
}

TEST_F(MappedFileTest, IsKnownByItsInodeAndNotByItsPath) {
  ASSERT_EQ(::rename(path_.c_str(), (path_ + ".away").c_str()), 0);
  const int fd = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ::close(fd);
  EXPECT_EQ(MappedFile(path_).in(child_), Mapped::No);
  EXPECT_EQ(MappedFile(folder_.path() + "/absent").in(child_), Mapped::No);
}

TEST_F(MappedFileTest, SeesEndedProcesses) {
  const MappedFile file(path_);
  ::kill(child_, SIGKILL);
  siginfo_t ended;
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child_), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(file.in(child_), Mapped::Ended);
  EXPECT_EQ(file.in(-1), Mapped::Ended);
}

// The mapping of the file is at the end of the list, behind thousands of others, which take many reads.
TEST_F(MappedFileTest, DoesNotMissTheFileOfAProcessThatEnds) {
  constexpr std::size_t kPages = 4000, kPageBytes = 4096;
  const MappedFile file(path_);
  for (int round = 0; round < 100; ++round) {
    int ready[2];
    ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      auto* const pages = static_cast<char*>(
          ::mmap(nullptr, kPages * kPageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
      for (std::size_t page = 0; page < kPages; page += 2) ::mprotect(pages + page * kPageBytes, kPageBytes, PROT_READ);
      if (::write(ready[1], "r", 1) != 1) ::_exit(1);
      ::usleep(static_cast<useconds_t>(round % 10) * 100);
      ::_exit(0);
    }
    char byte;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    Mapped found = Mapped::Yes;
    while (found == Mapped::Yes) found = file.in(child);
    EXPECT_EQ(found, Mapped::Ended) << "round " << round;
    ::waitpid(child, nullptr, 0);
    ::close(ready[0]);
    ::close(ready[1]);
  }
}

}  // namespace
}  // namespace tare::core
