// The one sentence about a process that runs unrecorded.
#include "recorder/base/refusal.h"

#include <errno.h>
#include <gtest/gtest.h>

#include <string>

namespace tare::recorder {
namespace {

std::string refusal(Wanted wanted, const char* folder, int error) {
  char buffer[512];
  Text sentence(buffer, sizeof(buffer));
  describe_refusal(sentence, wanted, folder, error);
  return sentence.c_str();
}

TEST(Refusal, NamesTheFolderAndTheReason) {
  EXPECT_EQ(refusal(Wanted::Spool, "/a", ENOSPC), "no spool can be made in /a: no space left");
  EXPECT_EQ(refusal(Wanted::Spool, "/a", 4000), "no spool can be made in /a: error 4000");
}

TEST(Refusal, NamesNoFolderBeforeOneIsChosen) {
  EXPECT_EQ(refusal(Wanted::Spool, "", ENOMEM), "no spool can be made: no address space left (ulimit -v)");
}

TEST(Refusal, NamesTheSizeOfTheFileThatCannotBeMade) {
  EXPECT_NE(refusal(Wanted::Spool, "/a", EFBIG).find(" 121 MiB "), std::string::npos);
  EXPECT_EQ(refusal(Wanted::WatchFile, "/a", EFBIG),
            "no watch file can be made in /a: files may not be as large as 4 MiB (ulimit -f)");
}

// Nothing about the folder, and another file system wouldn't help: its own errors don't read like this.
TEST(Refusal, LargerPagesAreTheKernels) {
  const std::string sentence = refusal(Wanted::Spool, "/a", kLargerPages);
  EXPECT_EQ(sentence, "this kernel's pages are larger than 4 KiB, and the recorder needs pages of 4 KiB");
  EXPECT_EQ(refusal(Wanted::WatchFile, "", kLargerPages), sentence);
  EXPECT_EQ(refusal(Wanted::Spool, "/a", ENOTSUP), "no spool can be made in /a: error 95");
}

}  // namespace
}  // namespace tare::recorder
