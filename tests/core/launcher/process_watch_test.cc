#include "core/launcher/process_watch.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tare::core {
namespace {

TEST(ProcessWatch, KnowsDescendants) {
  const pid_t child = ::fork();
  if (child == 0) {
    const pid_t grandchild = ::fork();
    if (grandchild == 0) _exit(descends_from(::getpid(), ::getppid()) ? 0 : 1);
    int status = 1;
    ::waitpid(grandchild, &status, 0);
    _exit(status == 0 && descends_from(::getpid(), ::getppid()) ? 0 : 1);
  }
  EXPECT_TRUE(descends_from(child, ::getpid()));
  EXPECT_FALSE(descends_from(::getpid(), child));
  EXPECT_FALSE(descends_from(1, ::getpid()));
  int status = 1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(descends_from(child, ::getpid()));
}

TEST(ProcessWatch, OfAProcessThatIsGoneIsOver) { EXPECT_TRUE(ProcessWatch::of_gone().over()); }

}  // namespace
}  // namespace tare::core
