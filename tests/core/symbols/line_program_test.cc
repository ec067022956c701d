// The line machine on hand-made programs; real ones are compared with llvm-symbolizer in oracle_test.cc.
#include "core/symbols/line_program.h"

#include <dwarf.h>
#include <gtest/gtest.h>

namespace tare::core {
namespace {

class Bytes {
 public:
  Bytes& u8(unsigned value) { return put(value, 1); }
  Bytes& u16(unsigned value) { return put(value, 2); }
  Bytes& u32(std::uint64_t value) { return put(value, 4); }
  Bytes& u64(std::uint64_t value) { return put(value, 8); }
  Bytes& text(const char* value) {
    bytes_ += value;
    bytes_ += '\0';
    return *this;
  }
  Bytes& add(const Bytes& other) {
    bytes_ += other.bytes_;
    return *this;
  }
  Bytes& set_address(std::uint64_t address) { return u8(0).u8(9).u8(DW_LNE_set_address).u64(address); }
  Bytes& end_sequence() { return u8(0).u8(1).u8(DW_LNE_end_sequence); }
  Bytes& row(unsigned advance_pc, unsigned advance_line) {
    return u8(DW_LNS_advance_pc).u8(advance_pc).u8(DW_LNS_advance_line).u8(advance_line).u8(DW_LNS_copy);
  }
  const std::string& str() const { return bytes_; }

 private:
  Bytes& put(std::uint64_t value, int count) {
    for (int i = 0; i < count; ++i) bytes_ += static_cast<char>(value >> (8 * i));
    return *this;
  }
  std::string bytes_;
};

Bytes machine_parameters() {  // line_base -5, line_range 14, opcode_base 13
  Bytes made;
  made.u8(1).u8(1).u8(1).u8(0xfb).u8(14).u8(13);
  for (const unsigned count : {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1}) made.u8(count);
  return made;
}

std::string program4(const Bytes& code) {
  Bytes header = machine_parameters();
  header.text("include").text("/usr/include").u8(0);
  header.text("a.cc").u8(0).u8(0).u8(0).text("b.h").u8(1).u8(0).u8(0).text("c.h").u8(2).u8(0).u8(0).u8(0);
  Bytes unit;
  unit.u16(4).u32(header.str().size()).add(header).add(code);
  return Bytes().u32(unit.str().size()).add(unit).str();
}

std::string program5(const Bytes& code) {
  Bytes header = machine_parameters();
  header.u8(1).u8(DW_LNCT_path).u8(DW_FORM_string).u8(2).text("/build").text("include");
  header.u8(2).u8(DW_LNCT_path).u8(DW_FORM_string).u8(DW_LNCT_directory_index).u8(DW_FORM_udata);
  header.u8(2).text("a.cc").u8(0).text("../b.h").u8(1);
  Bytes unit;
  unit.u16(5).u8(8).u8(0).u32(header.str().size()).add(header).add(code);
  return Bytes().u32(unit.str().size()).add(unit).str();
}

std::vector<std::uint32_t> lines_at(const std::string& section, std::vector<std::uint64_t> addresses) {
  const auto program = LineProgram::parse({section, {}, {}}, 0, "/build");
  if (!program) return {};
  std::vector<std::uint32_t> lines;
  for (const auto& row : program->find(addresses)) lines.push_back(row ? row->line : 9999);
  return lines;
}

TEST(LineProgram, RowsCoverUntilTheNext) {
  const std::string section =
      program4(Bytes().set_address(0x1000).row(0, 9).row(4, 5).row(4, 1).row(8, 0).end_sequence());
  EXPECT_EQ(lines_at(section, {0xfff, 0x1000, 0x1003, 0x1004, 0x1007, 0x1008, 0x100f, 0x1010}),
            (std::vector<std::uint32_t>{9999, 10, 10, 15, 15, 16, 16, 9999}));
}

TEST(LineProgram, SequencesInAnyOrderAndGapsBetween) {
  const std::string section = program4(Bytes()
                                           .set_address(0x2000)
                                           .row(0, 1)
                                           .row(16, 0)
                                           .end_sequence()
                                           .set_address(0x1000)
                                           .row(0, 5)
                                           .row(16, 0)
                                           .end_sequence());
  EXPECT_EQ(lines_at(section, {0x1008, 0x1800, 0x2008, 0x3000}), (std::vector<std::uint32_t>{6, 9999, 2, 9999}));
}

TEST(LineProgram, LastOfSeveralRowsAtOneAddressCounts) {
  EXPECT_EQ(
      lines_at(program4(Bytes().set_address(0x1000).row(0, 1).row(0, 1).row(0, 1).row(4, 0).end_sequence()), {0x1001}),
      (std::vector<std::uint32_t>{4}));
}

TEST(LineProgram, SpecialOpcodes) {
  // 13 + (line + 5) + 14 * pc: +2 lines, +3 bytes
  EXPECT_EQ(lines_at(program4(Bytes().set_address(0x1000).u8(DW_LNS_copy).u8(13 + 7 + 14 * 3).row(1, 0).end_sequence()),
                     {0x1002, 0x1003}),
            (std::vector<std::uint32_t>{1, 3}));
}

TEST(LineProgram, FilesBeforeDwarf5CountFromOne) {
  const std::string section = program4(Bytes());
  const auto program = LineProgram::parse({section, {}, {}}, 0, "/build");
  ASSERT_TRUE(program);
  EXPECT_EQ(program->path(0), "");
  EXPECT_EQ(program->path(1), "/build/a.cc");
  EXPECT_EQ(program->path(2), "/build/include/b.h");
  EXPECT_EQ(program->path(3), "/usr/include/c.h");
  EXPECT_EQ(program->path(4), "");
}

TEST(LineProgram, FilesOfDwarf5CountFromZero) {
  const std::string section = program5(Bytes().set_address(0x1000).row(0, 1).row(1, 0).end_sequence());
  const auto program = LineProgram::parse({section, {}, {}}, 0, "/ignored");
  ASSERT_TRUE(program);
  EXPECT_EQ(program->path(0), "/build/a.cc");
  EXPECT_EQ(program->path(1), "/ignored/b.h");
  EXPECT_EQ(lines_at(section, {0x1000}), std::vector<std::uint32_t>{2});
}

TEST(LineProgram, RelativeCompilationDirectoryIsTakenOnce) {
  std::string section = program5(Bytes());
  section.replace(section.find("/build"), 6, "./src/");
  const auto program = LineProgram::parse({section, {}, {}}, 0, "./src");
  ASSERT_TRUE(program);
  EXPECT_EQ(program->path(0), "src/a.cc");
  EXPECT_EQ(program->path(1), "src/b.h");
}

TEST(LineProgram, CutAnywhere) {
  for (const std::string& whole : {program4(Bytes().set_address(0x1000).row(0, 9).row(4, 5).end_sequence()),
                                   program5(Bytes().set_address(0x1000).row(0, 9).row(4, 5).end_sequence())}) {
    for (std::size_t size = 0; size < whole.size(); ++size) lines_at(whole.substr(0, size), {0x1000, 0x1004});
    for (std::size_t at = 0; at < whole.size(); ++at) {
      for (int bit = 0; bit < 8; ++bit) {
        std::string bad = whole;
        bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
        lines_at(bad, {0x1000, 0x1004});
      }
    }
  }
}

}  // namespace
}  // namespace tare::core
