// llvm-symbolizer as a second opinion, address by address, with the shares printed.
//
// Spelling that is no difference: we set clone suffixes (.isra.0) apart, llvm leaves them on; of a constructor's equal
// variants (C1, C2) either may be named. Where the compiler folded equal functions into one, llvm takes a name from the
// symbol table though the lines are another's; asked for short names it takes DWARF's, as we do. Either is accepted.
//
// Measured on 5,000 call sites of python3.11 and 2,000 of librbd1-dbg (131 MB, inline depth 4 on average): innermost
// line and inline depth equal on all; every file and line too, but for one outer frame of a COMDAT function that two
// units describe.
#include <gtest/gtest.h>

#include <cstdio>

#include "core/demangle/demangle.h"
#include "support.h"

namespace tare::core {
namespace {

using namespace testing;

struct Agreement {
  std::size_t addresses = 0;
  std::size_t lines = 0;
  std::size_t depths = 0;
  std::size_t names = 0;
  std::size_t places = 0;  // file and line of every frame
};

bool same_name(const Frame& ours, const Frame& theirs, const Frame& theirs_by_dwarf) {
  const std::string_view unversioned = std::string_view(theirs.linkage_name).substr(0, theirs.linkage_name.find('@'));
  const std::string_view base = split_clone_suffix(unversioned).base;
  return ours.linkage_name == base || ours.function == demangle_base(base) ||
         ours.linkage_name == split_clone_suffix(theirs_by_dwarf.linkage_name).base;
}

Agreement compare(const std::filesystem::path& program, const std::filesystem::path& debug_file, std::size_t count) {
  const std::vector<std::uint64_t> addresses = function_addresses(debug_file, count);
  const auto theirs = llvm_symbolizer(debug_file, addresses, "linkage");
  const auto theirs_by_dwarf = llvm_symbolizer(debug_file, addresses, "short");
  const auto ours = Symbolizer(without_cache()).resolve(module_of(program), returning_to(addresses));
  Agreement agreement;
  std::size_t differing = 0;
  if (theirs.size() != ours.size() || theirs_by_dwarf.size() != ours.size()) return agreement;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    ++agreement.addresses;
    agreement.lines += ours[i].front().file == theirs[i].front().file && ours[i].front().line == theirs[i].front().line;
    agreement.depths += ours[i].size() == theirs[i].size();
    bool names = ours[i].size() == theirs[i].size();
    bool places = names;
    for (std::size_t k = 0; k < ours[i].size() && k < theirs[i].size(); ++k) {
      names = names && same_name(ours[i][k], theirs[i][k], theirs_by_dwarf[i][k]);
      places = places && ours[i][k].file == theirs[i][k].file && ours[i][k].line == theirs[i][k].line;
    }
    agreement.names += names;
    agreement.places += places;
    if ((!names || !places) && ++differing <= 5) {
      std::printf("  differs at %#llx: %zu frames, theirs %zu\n", static_cast<unsigned long long>(addresses[i]),
                  ours[i].size(), theirs[i].size());
      for (const auto* stack : {&ours[i], &theirs[i]}) {
        for (const Frame& frame : *stack) {
          std::printf("    %s %s %s:%u\n", stack == &ours[i] ? "ours  " : "theirs", frame.linkage_name.c_str(),
                      frame.file.c_str(), frame.line.value_or(0));
        }
      }
    }
  }
  std::printf("%s: of %zu addresses, equal innermost line %zu, inline depth %zu, names %zu, every place %zu\n",
              program.filename().c_str(), agreement.addresses, agreement.lines, agreement.depths, agreement.names,
              agreement.places);
  return agreement;
}

TEST(Oracle, FixtureInEveryForm) {
  if (!has_llvm_symbolizer()) GTEST_SKIP() << "llvm-symbolizer-19 isn't installed (package llvm-19)";
  for (const char* name : {"dwarf5", "dwarf4", "compressed", "sections"}) {
    const Agreement agreement = compare(fixture(name), fixture(name), 1000);
    ASSERT_EQ(agreement.addresses, 1000u);
    EXPECT_GE(agreement.lines, 999u) << name;
    EXPECT_GE(agreement.depths, 999u) << name;
    EXPECT_GE(agreement.names, 999u) << name;
  }
}

TEST(Oracle, FixtureByTheOtherCompiler) {
  if (!has_llvm_symbolizer()) GTEST_SKIP() << "llvm-symbolizer-19 isn't installed (package llvm-19)";
  if (!has_command("clang++-19")) GTEST_SKIP() << "clang++-19 isn't installed";
  const TemporaryFolder folder;  // Clang writes no .debug_aranges, and DWARF 5's indexed forms
  const std::string source = FIXTURE_SOURCE;
  ASSERT_EQ(shell("clang++-19 -O2 -g '" + source + "' -o '" + (folder.path() / "clang").string() + "'"), 0);
  const Agreement agreement = compare(folder.path() / "clang", folder.path() / "clang", 1000);
  ASSERT_EQ(agreement.addresses, 1000u);
  EXPECT_GE(agreement.lines, 999u);
  EXPECT_GE(agreement.depths, 999u);
  EXPECT_GE(agreement.names, 999u);
}

TEST(Oracle, DebianPython) {
  if (!has_llvm_symbolizer()) GTEST_SKIP() << "llvm-symbolizer-19 isn't installed (package llvm-19)";
  Symbolizer symbolizer(without_cache());
  const ModuleReport report = symbolizer.report(module_of("/usr/bin/python3.11"));
  if (report.state != ModuleState::Lines) GTEST_SKIP() << "python3.11-dbg isn't installed: " << report.message;
  const Agreement agreement = compare("/usr/bin/python3.11", report.debug_file, 2000);
  ASSERT_EQ(agreement.addresses, 2000u);
  EXPECT_GE(agreement.lines, 1998u);
  EXPECT_GE(agreement.depths, 1998u);
  EXPECT_GE(agreement.names, 1998u);
}

// Assembly, functions under many names, compilation directories that are relative.
TEST(Oracle, DebianLibc) {
  if (!has_llvm_symbolizer()) GTEST_SKIP() << "llvm-symbolizer-19 isn't installed (package llvm-19)";
  const char* libc = "/lib/x86_64-linux-gnu/libc.so.6";
  Symbolizer symbolizer(without_cache());
  const ModuleReport report = symbolizer.report(module_of(libc));
  if (report.state != ModuleState::Lines) GTEST_SKIP() << "libc6-dbg isn't installed: " << report.message;
  const Agreement agreement = compare(libc, report.debug_file, 2000);
  ASSERT_EQ(agreement.addresses, 2000u);
  EXPECT_GE(agreement.lines, 1998u);
  EXPECT_GE(agreement.depths, 1998u);
  EXPECT_GE(agreement.places, 1998u);
  EXPECT_GE(agreement.names, 1700u);  // of malloc, __libc_malloc and __malloc we say malloc, llvm another
}

}  // namespace
}  // namespace tare::core
