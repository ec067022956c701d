// Programs that can't be recorded, started by recorded ones: they run as without the recorder, and a notice says why.
#include <gtest/gtest.h>

#include <stdlib.h>

#include <cstdio>
#include <filesystem>

#include "test_launcher.h"

namespace tare::test {
namespace {

namespace fs = std::filesystem;

class Exec : public testing::TestWithParam<const char*> {};

TEST_P(Exec, OfASanitizedProgramDropsTheRecorder) {
  const std::string form = GetParam();
  RunOptions options;
  std::string name = program("sanitized");
  if (form.ends_with('p') || form.ends_with("pe")) {
    options.environment = {"PATH=/no/where::" + fs::path(name).parent_path().string() + ":/bin"};
    name = "sanitized";
  }
  const RunResult result = run({program("starts"), form, name}, options);
  EXPECT_TRUE(result.exited(0)) << result.wait_status << result.errors;
  EXPECT_EQ(result.output, "a b preload=none");
  EXPECT_EQ(result.errors, "");
  ASSERT_EQ(result.notices.size(), 1u);
  const std::string expected = form == "fexecve" ? "a program" : "sanitized";
  EXPECT_EQ(result.notices[0], expected + "\nbuilt with a sanitizer, whose allocator must come first");
  EXPECT_EQ(result.images.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Forms, Exec,
                         testing::Values("execve", "execv", "execvp", "execvpe", "fexecve", "execl", "execlp", "execle",
                                         "vfork", "posix_spawn", "posix_spawnp"),
                         [](const auto& form) { return std::string(form.param); });

TEST(ExecTarget, LeavesOtherPreloadedLibrariesAlone) {
  RunOptions options;
  options.environment = {"LD_PRELOAD=libm.so.6 libdl.so.2"};
  const RunResult result = run({program("starts"), "execl", program("sanitized")}, options);
  EXPECT_TRUE(result.exited(0)) << result.wait_status;
  EXPECT_EQ(result.output, "a b preload=libm.so.6:libdl.so.2");
}

TEST(ExecTarget, OfRecordableProgramsIsNotNoted) {
  const RunResult result = run({program("starts"), "execv", program("burst")});
  EXPECT_TRUE(result.exited(0)) << result.wait_status;
  EXPECT_TRUE(result.notices.empty()) << result.notices[0];
  EXPECT_EQ(result.images.size(), 2u);
}

int exec_notes(const SpoolImage& image) {
  int notes = 0;
  for (const ThreadEvents& thread : image.threads()) {
    for (const RawEvent& event : thread.events) notes += event.op == trace::Op::Exec ? 1 : 0;
  }
  return notes;
}

TEST(ExecTarget, IsSaidByTheImageThatItReplaces) {
  for (const char* form : {"execve", "execv", "execvp", "execvpe", "fexecve", "execl", "execlp", "execle"}) {
    const RunResult result = run({program("starts"), form, program("burst")});
    ASSERT_TRUE(result.exited(0)) << form << result.wait_status;
    ASSERT_EQ(result.images.size(), 2u) << form;
    for (const SpoolImage& image : result.images) {
      const bool replaced = image.header().image_index == 0;
      EXPECT_EQ((image.header().flags.load() & trace::kSpoolReplaced) != 0, replaced) << form << image.path;
      EXPECT_EQ(exec_notes(image), replaced ? 1 : 0) << form << image.path;
    }
  }
}

TEST(ExecTarget, IsNotSaidByWhoOnlyStartsIt) {
  for (const char* form : {"vfork", "posix_spawn", "posix_spawnp"}) {
    const RunResult result = run({program("starts"), form, program("burst")});
    ASSERT_TRUE(result.exited(0)) << form << result.wait_status;
    for (const SpoolImage& image : result.images) {
      EXPECT_EQ(image.header().flags.load() & trace::kSpoolReplaced, 0u) << form << image.path;
      EXPECT_EQ(exec_notes(image), 0) << form << image.path;
    }
  }
}

TEST(ExecTarget, ThatFailsIsTakenBack) {
  const RunResult result = run({program("starts"), "execv", "/nowhere/at/all"});
  EXPECT_TRUE(result.exited(3)) << result.wait_status;
  EXPECT_EQ(result.only_image().header().flags.load() & trace::kSpoolReplaced, 0u);
}

TEST(ExecTarget, OfAStaticProgramIsNoted) {
  const RunResult result = run({program("starts"), "posix_spawn", program("static")});
  EXPECT_TRUE(result.exited(0)) << result.wait_status;
  ASSERT_EQ(result.notices.size(), 1u);
  EXPECT_TRUE(result.notices[0].starts_with("static\nlinked statically")) << result.notices[0];
}

TEST(ExecTarget, OfAScriptIsThatOfItsInterpreter) {
  RunOptions options;
  char folder[] = "/tmp/tare-script-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string script = std::string(folder) + "/script";
  FILE* file = std::fopen(script.c_str(), "w");
  std::fprintf(file, "#! %s x\n", program("sanitized").c_str());
  std::fclose(file);
  fs::permissions(script, fs::perms::owner_all);
  const RunResult result = run({program("starts"), "execv", script});
  EXPECT_TRUE(result.exited(0)) << result.wait_status;
  EXPECT_EQ(result.output, "x " + script + " a b preload=none");
  fs::remove_all(folder);
}

TEST(ExecTarget, ThatFailsLeavesNoNotice) {
  char folder[] = "/tmp/tare-copy-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string copy = std::string(folder) + "/sanitized";
  fs::copy_file(program("sanitized"), copy);
  fs::permissions(copy, fs::perms::owner_read);  // not executable
  for (const char* form : {"execv", "posix_spawn", "fexecve"}) {
    const RunResult result = run({program("starts"), form, copy});
    EXPECT_TRUE(result.exited(3)) << result.wait_status;
    EXPECT_TRUE(result.notices.empty()) << form << result.notices[0];
  }
  fs::remove_all(folder);
}

TEST(ExecTarget, WithAClearedEnvironmentIsNoted) {
  const RunResult result = run({"/usr/bin/env", "-i", program("burst"), "10"});
  EXPECT_TRUE(result.exited(0)) << result.wait_status;
  ASSERT_EQ(result.notices.size(), 1u);
  EXPECT_EQ(result.notices[0], "burst\nstarted with an environment that lacks LD_PRELOAD");
}

}  // namespace
}  // namespace tare::test
