// Unwind tables made by hand: rules found, and malformed ones refused.
#include "core/injection/unwind_rules.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <vector>

namespace tare::core {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Kind = FoundRow::Kind;

void put32(Bytes& to, std::size_t at, std::uint32_t value) { std::memcpy(to.data() + at, &value, sizeof(value)); }

// .eh_frame_hdr with one entry, then .eh_frame. The entry covers 256 bytes of "code", which nobody reads.
class Tables {
 public:
  static constexpr std::uint32_t kCode = 0x10000;  // above the header

  explicit Tables(const Bytes& instructions) {
    bytes_.resize(20);
    const std::size_t common = bytes_.size();
    // No number, version 1, "zR", code in steps of 1, data in steps of -8, return address in register 16, 1 byte of
    // data: pointers are relative 4-byte ones. Then the frame's address is rsp + 8, and the return address lies 8
    // below.
    add({0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1});
    entry_ = bytes_.size();
    Bytes entry(13);
    put32(entry, 0, static_cast<std::uint32_t>(entry_ + 4 - common));
    put32(entry, 4, kCode - static_cast<std::uint32_t>(entry_ + 8));
    put32(entry, 8, 0x100);
    entry.insert(entry.end(), instructions.begin(), instructions.end());
    add(entry);
    bytes_.resize(bytes_.size() + 4);
    bytes_[0] = 1;
    bytes_[1] = 0x1b;
    bytes_[2] = 0x03;
    bytes_[3] = 0x3b;
    put32(bytes_, 8, 1);
    put32(bytes_, 12, kCode);
    put32(bytes_, 16, static_cast<std::uint32_t>(entry_));
  }

  FoundRow find(std::uint64_t offset) const {
    LoadedObject object;
    object.eh_frame_header = reinterpret_cast<std::uint64_t>(bytes_.data());
    return find_unwind_row(::getpid(), object, object.eh_frame_header + kCode + offset);
  }
  std::uint64_t code() const { return reinterpret_cast<std::uint64_t>(bytes_.data()) + kCode; }
  Bytes& bytes() { return bytes_; }
  std::size_t entry() const { return entry_; }

 private:
  void add(const Bytes& record) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + 4);
    put32(bytes_, at, static_cast<std::uint32_t>(record.size()));
    bytes_.insert(bytes_.end(), record.begin(), record.end());
  }

  Bytes bytes_;
  std::size_t entry_ = 0;
};

TEST(UnwindRules, FollowAFunctionWithAFramePointer) {
  // 1: push %rbp (offset 16, rbp at -16); 4: mov %rsp, %rbp; 200: pop (rsp + 8 again)
  const Tables tables({0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x02, 196, 0x0c, 7, 8, 0xc6});
  const FoundRow first = tables.find(0);
  ASSERT_EQ(first.kind, Kind::Found);
  EXPECT_EQ(first.function, tables.code());
  EXPECT_EQ(first.row.frame_register, 7u);
  EXPECT_EQ(first.row.frame_offset, 8);
  EXPECT_EQ(first.row.rules[16].kind, UnwindRule::AtOffset);
  EXPECT_EQ(first.row.rules[16].value, -8);
  EXPECT_EQ(first.row.rules[6].kind, UnwindRule::Same);
  const FoundRow pushed = tables.find(3);
  EXPECT_EQ(pushed.row.frame_register, 7u);
  EXPECT_EQ(pushed.row.frame_offset, 16);
  EXPECT_EQ(pushed.row.rules[6].value, -16);
  const FoundRow body = tables.find(100);
  EXPECT_EQ(body.row.frame_register, 6u);
  EXPECT_EQ(body.row.frame_offset, 16);
  const FoundRow popped = tables.find(200);
  EXPECT_EQ(popped.row.frame_register, 7u);
  EXPECT_EQ(popped.row.frame_offset, 8);
  EXPECT_EQ(popped.row.rules[6].kind, UnwindRule::Same);
}

TEST(UnwindRules, CoverAnEntrysAddressesOnly) {
  const Tables tables({});
  EXPECT_EQ(tables.find(255).kind, Kind::Found);
  EXPECT_EQ(tables.find(256).kind, Kind::NoEntry);
  EXPECT_EQ(tables.find(static_cast<std::uint64_t>(-1)).kind, Kind::NoEntry);
  EXPECT_EQ(find_unwind_row(::getpid(), LoadedObject{}, 1).kind, Kind::NoEntry);
}

TEST(UnwindRules, RememberAndRestoreRows) {
  const Tables tables({0x0a, 0x41, 0x0e, 32, 0x83, 3, 0x41, 0x0b});
  EXPECT_EQ(tables.find(1).row.frame_offset, 32);
  EXPECT_EQ(tables.find(1).row.rules[3].value, -24);
  EXPECT_EQ(tables.find(2).row.frame_offset, 8);
  EXPECT_EQ(tables.find(2).row.rules[3].kind, UnwindRule::Same);
  EXPECT_EQ(Tables({0x0b}).find(0).kind, Kind::Unknown);
}

TEST(UnwindRules, HaveLongForms) {
  const Tables tables({0x03, 4, 0,    0x05, 0x86, 0x00, 2,    0x11, 3,    0x7d, 0x12, 6,    0x7e, 0x04, 4, 0,
                       0,    0, 0x13, 0x7c, 0x07, 16,   0x08, 6,    0x09, 12,   13,   0x2e, 8,    0x06, 3});
  EXPECT_EQ(tables.find(3).row.frame_offset, 8);
  const FoundRow early = tables.find(4);
  EXPECT_EQ(early.row.rules[6].value, -16);
  EXPECT_EQ(early.row.rules[3].value, 24);
  EXPECT_EQ(early.row.frame_register, 6u);
  EXPECT_EQ(early.row.frame_offset, 16);
  const FoundRow late = tables.find(8);
  EXPECT_EQ(late.row.frame_offset, 32);
  EXPECT_EQ(late.row.rules[16].kind, UnwindRule::Undefined);
  EXPECT_EQ(late.row.rules[6].kind, UnwindRule::Same);
  EXPECT_EQ(late.row.rules[12].kind, UnwindRule::InRegister);
  EXPECT_EQ(late.row.rules[12].value, 13);
  EXPECT_EQ(late.row.rules[3].kind, UnwindRule::Same);
}

TEST(UnwindRules, OfAlignedStacksAreSums) {
  // The frame's address lies at rbp - 8 (breg6 -8, deref); rbx lies at rbp - 16; r12's value is an expression.
  const Tables tables({0x0f, 3, 0x76, 0x78, 0x06, 0x10, 3, 2, 0x76, 0x70, 0x16, 12, 2, 0x76, 0x70});
  const FoundRow found = tables.find(0);
  ASSERT_EQ(found.kind, Kind::Found);
  EXPECT_EQ(found.row.kind, UnwindRow::Stored);
  EXPECT_EQ(found.row.frame_register, 6u);
  EXPECT_EQ(found.row.frame_offset, -8);
  EXPECT_EQ(found.row.rules[3].kind, UnwindRule::AtAddress);
  EXPECT_EQ(found.row.rules[3].base, 6u);
  EXPECT_EQ(found.row.rules[3].value, -16);
  EXPECT_EQ(found.row.rules[12].kind, UnwindRule::Unknown);
}

TEST(UnwindRules, OtherExpressionsAreUnknown) {
  // of linkage tables: rsp + 8 + ((rip & 15) >= 11) * 8
  const Tables linkage({0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22});
  ASSERT_EQ(linkage.find(0).kind, Kind::Found);
  EXPECT_EQ(linkage.find(0).row.kind, UnwindRow::Unknown);
  const Bytes others[] = {
      {0x0f, 0}, {0x0f, 1, 0x76}, {0x0f, 2, 0x76, 8}, {0x0f, 3, 0x90, 6, 0x06}, {0x0f, 3, 0x6f, 8, 0x06}};
  for (const Bytes& other : others) EXPECT_EQ(Tables(other).find(0).row.kind, UnwindRow::Unknown);
  EXPECT_EQ(Tables({0x10, 3, 3, 0x76, 8, 0x06}).find(0).row.rules[3].kind, UnwindRule::Unknown);
}

TEST(UnwindRules, RefuseInstructionsThatTheyDontHave) {
  EXPECT_EQ(Tables({0x01, 0, 0, 0, 0}).find(0).kind, Kind::Unknown);
  EXPECT_EQ(Tables({0x3f}).find(0).kind, Kind::Unknown);
}

TEST(UnwindRules, RefuseTruncatedInstructions) {
  const Bytes truncated[] = {{0x03, 1}, {0x04, 1, 0, 0}, {0x86},        {0x86, 0x80},
                             {0x0c, 7}, {0x0f, 9, 0x76}, {0x16, 3, 200}};
  for (const Bytes& instructions : truncated) EXPECT_EQ(Tables(instructions).find(0xff).kind, Kind::Unknown);
}

TEST(UnwindRules, IgnoreRegistersThatTheyDontHave) {
  const FoundRow found = Tables({0x05, 0xff, 0xff, 0xff, 0xff, 0x0f, 1, 0xa0, 1, 0xe0, 0x06, 0x70}).find(0);
  ASSERT_EQ(found.kind, Kind::Found);
  EXPECT_EQ(found.row.frame_offset, 8);
  // A number that is negative as a signed one stays out of the registers: the walk ends there.
  const FoundRow other = Tables({0x09, 3, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1}).find(0);
  ASSERT_EQ(other.kind, Kind::Found);
  EXPECT_EQ(other.row.rules[3].kind, UnwindRule::InRegister);
  EXPECT_LT(other.row.rules[3].value, 0);
}

TEST(UnwindRules, RefuseDamagedTables) {
  const auto kind = [](auto change) {
    Tables tables({0x41, 0x0e, 16});
    change(tables);
    return tables.find(0).kind;
  };
  EXPECT_EQ(kind([](Tables&) {}), Kind::Found);
  EXPECT_EQ(kind([](Tables& tables) { tables.bytes()[0] = 2; }), Kind::Unknown);          // version
  EXPECT_EQ(kind([](Tables& tables) { tables.bytes()[3] = 0xff; }), Kind::Unknown);       // no table
  EXPECT_EQ(kind([](Tables& tables) { put32(tables.bytes(), 8, 0); }), Kind::NoEntry);    // no lines
  EXPECT_EQ(kind([](Tables& tables) { put32(tables.bytes(), 8, ~0u); }), Kind::Unknown);  // lines outside of memory
  EXPECT_EQ(kind([](Tables& tables) { put32(tables.bytes(), tables.entry(), 0); }), Kind::Unknown);
  EXPECT_EQ(kind([](Tables& tables) { put32(tables.bytes(), tables.entry(), 1); }), Kind::Unknown);
  EXPECT_EQ(kind([](Tables& tables) { put32(tables.bytes(), tables.entry(), ~0u); }), Kind::Unknown);
  EXPECT_EQ(kind([](Tables& tables) { put32(tables.bytes(), tables.entry() + 4, 0x40000000); }), Kind::Unknown);
  EXPECT_EQ(kind([](Tables& tables) { put32(tables.bytes(), 16, 0x7ffffff0); }), Kind::Unknown);
  EXPECT_EQ(kind([](Tables& tables) { tables.bytes()[20 + 4 + 12] = 0x1f; }), Kind::Unknown);  // encoding of pointers
}

}  // namespace
}  // namespace tare::core
