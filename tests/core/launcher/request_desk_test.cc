// Requests that name processes which aren't the recording's.
#include "core/launcher/request_desk.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "support/temp_dir.h"

namespace tare::core {
namespace {

std::string answer_to(SpoolDirectory& directory, const std::string& request) {
  const std::string stem = directory.path() + "/1.1";
  EXPECT_EQ(::symlink(request.c_str(), (stem + trace::kRequestSuffix).c_str()), 0);
  directory.control().requested = 1;
  RequestDesk desk(directory, {}, [](pid_t) { return nullptr; });
  desk.serve();
  char text[4096];
  const ssize_t length = ::readlink((stem + trace::kAnswerSuffix).c_str(), text, sizeof text);
  ::unlink((stem + trace::kAnswerSuffix).c_str());
  return length < 0 ? std::string() : std::string(text, static_cast<std::size_t>(length));
}

TEST(RequestDesk, StopsNoProcessOfOthers) {
  const pid_t stranger = ::fork();  // before there is a control file, whose mapping it would inherit
  if (stranger == 0) {
    while (true) ::pause();
  }
  const test::TempDir folder;
  ::setenv("TARE_SPOOL_PARENT", folder.path().c_str(), 1);
  Result<SpoolDirectory> directory = SpoolDirectory::create(folder.path());
  ::unsetenv("TARE_SPOOL_PARENT");
  ASSERT_TRUE(directory);
  for (const char* verb : {"pause", "resume"}) {
    EXPECT_EQ(answer_to(*directory, verb + (" " + std::to_string(stranger))),
              "no process " + std::to_string(stranger) + " isn't part of this recording");
    EXPECT_EQ(answer_to(*directory, verb + std::string(" all")), "ok 0 processes");
  }
  ::kill(stranger, SIGKILL);
  ::waitpid(stranger, nullptr, 0);
  EXPECT_EQ(answer_to(*directory, "pause " + std::to_string(stranger)),
            "no process " + std::to_string(stranger) + " has ended");
}

}  // namespace
}  // namespace tare::core
