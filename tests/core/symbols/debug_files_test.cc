// Sources of names: separate debug files by build id and debug link, dwz, and refusals of files of another build.
#include "core/symbols/debug_files.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "support.h"

namespace tare::core {
namespace {

namespace fs = std::filesystem;
using namespace testing;

class SeparateDebugFile : public ::testing::Test {
 protected:
  // program: stripped; debug: the rest; whole: as built
  void SetUp() override {
    if (!has_command("objcopy")) GTEST_SKIP() << "needs objcopy (binutils)";
    fs::copy_file(fixture("dwarf5"), whole_);
    ASSERT_EQ(shell("objcopy --only-keep-debug '" + whole_.string() + "' '" + debug_.string() + "'"), 0);
    ASSERT_EQ(shell("objcopy --strip-all '" + whole_.string() + "' '" + program_.string() + "'"), 0);
    addresses_ = returning_to(function_addresses(whole_, 60));
    expected_ = Symbolizer(without_cache()).resolve(module_of(whole_), addresses_);
    ASSERT_GT(addresses_.size(), 0u);
  }
  fs::path by_build_id(const fs::path& root) const {
    const std::string hex = to_hex(module_of(whole_).build_id);
    const fs::path file = root / ".build-id" / hex.substr(0, 2) / (hex.substr(2) + ".debug");
    fs::create_directories(file.parent_path());
    return file;
  }
  ModuleState resolve(const trace::Module& module, std::vector<std::vector<Frame>>& stacks,
                      const fs::path& debug_dir = {}) {
    SymbolizerOptions options = without_cache();
    if (!debug_dir.empty()) options.debug_dirs = {debug_dir};
    Symbolizer symbolizer(options);
    stacks = symbolizer.resolve(module, addresses_);
    message_ = symbolizer.report(module).message;
    return symbolizer.report(module).state;
  }
  std::vector<std::vector<Frame>> unknown() const {
    return std::vector<std::vector<Frame>>(addresses_.size(), {Frame{}});
  }

  TemporaryFolder folder_;
  fs::path whole_ = folder_.path() / "whole";
  fs::path program_ = folder_.path() / "program";
  fs::path debug_ = folder_.path() / "program.debug";
  std::vector<std::uint64_t> addresses_;
  std::vector<std::vector<Frame>> expected_;
  std::string message_;
};

TEST_F(SeparateDebugFile, StrippedWithoutItHasNoNames) {
  std::vector<std::vector<Frame>> stacks;
  resolve(module_of(program_), stacks);
  // .dynsym is left and holds a few: what it doesn't hold stays unnamed instead of taking a neighbour's name.
  std::size_t unnamed = 0;
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    ASSERT_EQ(stacks[i].size(), 1u);
    if (stacks[i][0].linkage_name.empty()) {
      ++unnamed;
    } else {
      EXPECT_EQ(stacks[i][0].linkage_name, expected_[i].back().linkage_name);
    }
  }
  EXPECT_GT(unnamed, stacks.size() / 2);
  EXPECT_NE(message_, "");
}

TEST_F(SeparateDebugFile, FoundByBuildId) {
  fs::copy_file(debug_, by_build_id(folder_.path() / "debug"));
  fs::remove(debug_);
  std::vector<std::vector<Frame>> stacks;
  EXPECT_EQ(resolve(module_of(program_), stacks, folder_.path() / "debug"), ModuleState::Lines);
  EXPECT_EQ(stacks, expected_);
}

TEST_F(SeparateDebugFile, FoundByBuildIdWhenTheProgramIsGoneOrReplaced) {
  fs::copy_file(debug_, by_build_id(folder_.path() / "debug"));
  trace::Module module = module_of(program_);
  std::vector<std::vector<Frame>> stacks;
  fs::remove(program_);
  EXPECT_EQ(resolve(module, stacks, folder_.path() / "debug"), ModuleState::Lines);
  EXPECT_EQ(stacks, expected_);
  fs::copy_file("/bin/sh", program_);
  EXPECT_EQ(resolve(module, stacks, folder_.path() / "debug"), ModuleState::Lines);
  EXPECT_EQ(stacks, expected_);
}

// The folders of TARE_SYMBOLS: as distributions have them, as debuginfod's client has them, and copied by hand.
TEST_F(SeparateDebugFile, FoundInTheUsersFolders) {
  const fs::path mine = folder_.path() / "mine";
  const fs::path names[] = {by_build_id(mine), mine / to_hex(module_of(whole_).build_id) / "debuginfo",
                            mine / "program.debug", mine / "program"};
  fs::rename(debug_, folder_.path() / "kept");
  for (const fs::path& name : names) {
    fs::create_directories(name.parent_path());
    fs::copy_file(folder_.path() / "kept", name);
    std::vector<std::vector<Frame>> stacks;
    EXPECT_NE(resolve(module_of(program_), stacks), ModuleState::Lines) << name;
    ::setenv("TARE_SYMBOLS", ("/nowhere::" + mine.string()).c_str(), 1);
    EXPECT_EQ(resolve(module_of(program_), stacks), ModuleState::Lines) << name;
    ::unsetenv("TARE_SYMBOLS");
    EXPECT_EQ(stacks, expected_) << name;
    fs::remove(name);
  }
}

TEST_F(SeparateDebugFile, OfAnotherBuildIsRefused) {
  const fs::path file = by_build_id(folder_.path() / "debug");
  fs::copy_file(fixture("dwarf4"), file);  // right place, wrong build
  std::vector<std::vector<Frame>> stacks;
  EXPECT_NE(resolve(module_of(program_), stacks, folder_.path() / "debug"), ModuleState::Lines);
}

TEST_F(SeparateDebugFile, FoundByDebugLink) {
  ASSERT_EQ(shell("cd '" + folder_.path().string() + "' && objcopy --add-gnu-debuglink=program.debug program"), 0);
  std::vector<std::vector<Frame>> stacks;
  EXPECT_EQ(resolve(module_of(program_), stacks), ModuleState::Lines);
  EXPECT_EQ(stacks, expected_);
  fs::create_directories(folder_.path() / ".debug");
  fs::rename(debug_, folder_.path() / ".debug" / "program.debug");
  EXPECT_EQ(resolve(module_of(program_), stacks), ModuleState::Lines);
  EXPECT_EQ(stacks, expected_);
  const fs::path mirrored = folder_.path() / "debug" / folder_.path().relative_path();
  fs::create_directories(mirrored);
  fs::rename(folder_.path() / ".debug" / "program.debug", mirrored / "program.debug");
  EXPECT_EQ(resolve(module_of(program_), stacks, folder_.path() / "debug"), ModuleState::Lines);
  EXPECT_EQ(stacks, expected_);
}

TEST_F(SeparateDebugFile, DebugLinkChecksTheCrcWhereThereIsNoBuildId) {
  const std::string in_folder = "cd '" + folder_.path().string() + "' && ";
  ASSERT_EQ(shell(in_folder + "objcopy --remove-section=.note.gnu.build-id program && "
                              "objcopy --remove-section=.note.gnu.build-id program.debug && "
                              "objcopy --add-gnu-debuglink=program.debug program"),
            0);
  const trace::Module module = module_of(program_);
  ASSERT_TRUE(module.build_id.empty());
  std::vector<std::vector<Frame>> stacks;
  EXPECT_EQ(resolve(module, stacks), ModuleState::Lines);
  EXPECT_EQ(stacks, expected_);
  write_all(debug_, read_all(debug_) + "x");  // still a good ELF file, but not the linked one
  EXPECT_NE(resolve(module, stacks), ModuleState::Lines);
}

TEST_F(SeparateDebugFile, ReplacedProgramGivesNoNames) {
  trace::Module module = module_of(whole_);
  module.build_id.back() ^= 1;
  std::vector<std::vector<Frame>> stacks;
  EXPECT_EQ(resolve(module, stacks), ModuleState::Replaced);
  EXPECT_EQ(stacks, unknown());
  EXPECT_NE(message_.find(whole_.string()), std::string::npos);
  module.build_id.clear();
  EXPECT_EQ(resolve(module, stacks), ModuleState::Replaced);
  EXPECT_EQ(stacks, unknown());
}

TEST_F(SeparateDebugFile, MissingAndForeignFiles) {
  trace::Module module = module_of(whole_);
  std::vector<std::vector<Frame>> stacks;
  module.path = (folder_.path() / "nothing").string();
  EXPECT_EQ(resolve(module, stacks), ModuleState::Missing);
  EXPECT_EQ(stacks, unknown());
  module.path = whole_.string() + " (deleted)";
  EXPECT_EQ(resolve(module, stacks), ModuleState::Missing);
  write_all(folder_.path() / "text",
            "no ELF file, but long enough to hold the header of one, and then some: xxxxxxxxx");
  for (const fs::path& odd : {folder_.path() / "text", folder_.path(), fs::path("/dev/null")}) {
    module.path = odd.string();
    EXPECT_EQ(resolve(module, stacks), ModuleState::Damaged) << odd;
    EXPECT_EQ(stacks, unknown());
    EXPECT_NE(message_.find(odd.string()), std::string::npos) << message_;
  }
  ASSERT_EQ(shell("mkfifo '" + (folder_.path() / "fifo").string() + "'"), 0);
  module.path = (folder_.path() / "fifo").string();
  EXPECT_EQ(resolve(module, stacks), ModuleState::Damaged);  // and doesn't wait for a writer
}

TEST_F(SeparateDebugFile, MiniDebugInfoHasTheNames) {
  if (!has_command("xz")) GTEST_SKIP() << "needs xz";
  const std::string in_folder = "cd '" + folder_.path().string() + "' && ";
  ASSERT_EQ(
      shell(in_folder + "objcopy --strip-debug whole mini && objcopy -S --remove-section=.gnu_debugdata mini bare && "
                        "xz -k mini && objcopy --add-section=.gnu_debugdata=mini.xz bare"),
      0);
  const trace::Module module = module_of(folder_.path() / "bare");
  Symbolizer symbolizer(without_cache());
  if (symbolizer.resolve(module, addresses_[0]).back().function.empty()) GTEST_SKIP() << "built without liblzma";
  for (std::size_t i = 0; i < addresses_.size(); ++i) {
    EXPECT_EQ(symbolizer.resolve(module, addresses_[i]).back().linkage_name, expected_[i].back().linkage_name);
  }
}

TEST_F(SeparateDebugFile, SplitDwarf) {
  const std::string in_folder = "cd '" + folder_.path().string() + "' && ";
  const std::string source = FIXTURE_SOURCE;
  for (const char* flags : {" -O2 -g ", " -O2 -g -gsplit-dwarf "}) {
    ASSERT_EQ(shell(in_folder + CXX_COMPILER + flags + "-Wl,--build-id=sha1 " + source + " -o one"), 0);
    const trace::Module module = module_of(folder_.path() / "one");
    const auto addresses = returning_to(function_addresses(folder_.path() / "one", 200));
    const auto stacks = Symbolizer(without_cache()).resolve(module, addresses);
    static std::vector<std::vector<Frame>> unsplit;
    if (unsplit.empty()) unsplit = stacks;
    EXPECT_EQ(stacks, unsplit);
  }
}

TEST_F(SeparateDebugFile, SharedPartMadeByDwz) {
  if (!has_command("dwz")) GTEST_SKIP() << "needs dwz";
  // dwz moves what two files have in common into a third.
  const std::string in_folder = "cd '" + folder_.path().string() + "' && ";
  const std::string flags = " -O2 -g -gdwarf-4 -Wl,--build-id=sha1 ";
  const std::string source = FIXTURE_SOURCE;
  ASSERT_EQ(shell(in_folder + CXX_COMPILER + flags + source + " -o one && " + CXX_COMPILER + flags + "-DTWO " + source +
                  " -o two"),
            0);
  const auto addresses = returning_to(function_addresses(folder_.path() / "one", 200));
  const auto expected = Symbolizer(without_cache()).resolve(module_of(folder_.path() / "one"), addresses);
  ASSERT_EQ(shell(in_folder + "dwz -m common.debug one two"), 0);
  const trace::Module module = module_of(folder_.path() / "one");
  {
    const auto file = ElfFile::open(module.path);
    ASSERT_TRUE(file);
    ASSERT_TRUE((*file)->has_section(".gnu_debugaltlink"));
  }
  EXPECT_EQ(Symbolizer(without_cache()).resolve(module, addresses), expected);
  EXPECT_NE(find_debug_files(module, {}).alternate, nullptr);

  // Without the common part names of the machine code stay (ELF), lines too (own .debug_line).
  fs::remove(folder_.path() / "common.debug");
  const auto poorer = Symbolizer(without_cache()).resolve(module, addresses);
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    EXPECT_EQ(poorer[i].back().linkage_name, expected[i].back().linkage_name);
    EXPECT_EQ(poorer[i].front().line, expected[i].front().line);
  }
}

}  // namespace
}  // namespace tare::core
