// Unwind tables made by hand: rules found, and malformed ones refused.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "recorder/unwind/cfi.h"
#include "recorder/unwind/expression.h"
#include "recorder/unwind/rule.h"

namespace tare::recorder {
namespace {

// A buffer laid out as an object: .eh_frame_hdr, then .eh_frame; "code" is at addresses that nobody reads.
class Object {
 public:
  static constexpr std::uint64_t kCode = 0x10000;  // above the header

  explicit Object(const std::vector<std::uint8_t>& instructions,
                  const std::vector<std::uint8_t>& augmentation = {'R'}) {
    bytes_.resize(20);  // header and one pair, filled in below
    const std::uint64_t cie = bytes_.size();
    std::vector<std::uint8_t> body = {0, 0, 0, 0, 1, 'z'};
    for (const std::uint8_t letter : augmentation) body.push_back(letter);
    // Data alignment -8; CFA sp+8; return address at CFA-8.
    const std::uint8_t tail[] = {0, 1, 0x78, kReturn, 1, 0x1b, 0x0c, kSp, 8, 0x80 | kReturn, 1};
    body.insert(body.end(), std::begin(tail), std::end(tail));
    add(body);
    const std::uint64_t fde = bytes_.size();
    body.assign(4, 0);
    put32(body, 0, static_cast<std::uint32_t>(fde + 4 - cie));
    body.resize(12);
    put32(body, 4, static_cast<std::uint32_t>(kCode - (fde + 8)));
    put32(body, 8, 0x100);
    body.push_back(0);
    body.insert(body.end(), instructions.begin(), instructions.end());
    add(body);
    bytes_.resize(bytes_.size() + 4);
    const std::uint8_t header[] = {1, 0x1b, 0x03, 0x3b};
    std::memcpy(bytes_.data(), header, sizeof(header));
    put32(bytes_, 4, static_cast<std::uint32_t>(cie - 4));
    put32(bytes_, 8, 1);
    put32(bytes_, 12, kCode);
    put32(bytes_, 16, static_cast<std::uint32_t>(fde));
  }

  UnwindTable table() const {
    UnwindTable table;
    table.header = reinterpret_cast<std::uint64_t>(bytes_.data());
    table.image.add({table.header, table.header + bytes_.size()});
    return table;
  }
  std::uint64_t code(std::uint64_t offset) const {
    return reinterpret_cast<std::uint64_t>(bytes_.data()) + kCode + offset;
  }
  std::vector<std::uint8_t>& bytes() { return bytes_; }

  static void put32(std::vector<std::uint8_t>& to, std::size_t at, std::uint32_t value) {
    std::memcpy(to.data() + at, &value, sizeof(value));
  }

 private:
  void add(std::vector<std::uint8_t> body) {
    while (body.size() % 4 != 0) body.push_back(0);
    const auto length = static_cast<std::uint32_t>(body.size());
    bytes_.resize(bytes_.size() + 4);
    put32(bytes_, bytes_.size() - 4, length);
    bytes_.insert(bytes_.end(), body.begin(), body.end());
  }

  std::vector<std::uint8_t> bytes_;
};

// push %rbp at 1, mov %rsp,%rbp at 4, epilogue from 0x80.
const std::vector<std::uint8_t> kFramePointer = {0x41, 0x0e, 16,   0x80 | kFp, 2,   0x43, 0x0d, kFp,
                                                 0x02, 0x7c, 0x0a, 0x0c,       kSp, 8,    0x45, 0x0b};

TEST(Cfi, RulesChangeAlongTheFunction) {
  Object object(kFramePointer);
  CfiWork work;
  ASSERT_EQ(find_cfi_row(object.table(), object.code(1), work), CfiResult::Found);
  EXPECT_EQ(work.row.cfa.reg, static_cast<unsigned>(kSp));
  EXPECT_EQ(work.row.cfa.offset, 8);
  EXPECT_EQ(work.row.registers[kReturn].offset, -8);
  ASSERT_EQ(find_cfi_row(object.table(), object.code(2), work), CfiResult::Found);
  EXPECT_EQ(work.row.cfa.offset, 16);
  EXPECT_EQ(work.row.registers[kFp].kind, RegisterRule::Kind::AtCfa);
  EXPECT_EQ(work.row.registers[kFp].offset, -16);
  ASSERT_EQ(find_cfi_row(object.table(), object.code(0x20), work), CfiResult::Found);
  EXPECT_EQ(work.row.cfa.reg, static_cast<unsigned>(kFp));
  ASSERT_EQ(find_cfi_row(object.table(), object.code(0x81), work), CfiResult::Found);
  EXPECT_EQ(work.row.cfa.reg, static_cast<unsigned>(kSp));
  ASSERT_EQ(find_cfi_row(object.table(), object.code(0x90), work), CfiResult::Found);
  EXPECT_EQ(work.row.cfa.reg, static_cast<unsigned>(kFp));
}

TEST(Cfi, AddressesOutside) {
  Object object(kFramePointer);
  CfiWork work;
  EXPECT_EQ(find_cfi_row(object.table(), object.code(0), work), CfiResult::NoEntry);
  EXPECT_EQ(find_cfi_row(object.table(), object.code(0x100), work), CfiResult::Found);  // behind the last call
  EXPECT_EQ(find_cfi_row(object.table(), object.code(0x101), work), CfiResult::NoEntry);
}

TEST(Cfi, WithoutSearchTable) {
  Object object(kFramePointer);
  object.bytes()[3] = pe::kOmit;
  CfiWork work;
  EXPECT_EQ(find_cfi_row(object.table(), object.code(0x20), work), CfiResult::Found);
  EXPECT_EQ(work.row.cfa.reg, static_cast<unsigned>(kFp));
  EXPECT_EQ(find_cfi_row(object.table(), object.code(0x200), work), CfiResult::NoEntry);
}

TEST(Cfi, EveryCutAndEveryFlippedBitIsHarmless) {
  Object object(kFramePointer);
  CfiWork work;
  for (std::size_t cut = 0; cut < object.bytes().size(); ++cut) {
    std::vector<std::uint8_t> heap(object.bytes().begin(), object.bytes().begin() + static_cast<std::ptrdiff_t>(cut));
    UnwindTable table;
    table.header = reinterpret_cast<std::uint64_t>(heap.data());
    table.image.add({table.header, table.header + heap.size()});
    find_cfi_row(table, table.header + Object::kCode + 0x20, work);
  }
  for (std::size_t bit = 0; bit < object.bytes().size() * 8; ++bit) {
    object.bytes()[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
    find_cfi_row(object.table(), object.code(0x20), work);
    object.bytes()[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
  }
  EXPECT_EQ(find_cfi_row(object.table(), object.code(0x20), work), CfiResult::Found);
}

#if defined(__x86_64__)  // elsewhere they have no unwind table, and a call keeps its return address in a register
TEST(Expression, PltEntryIsAConstantOffset) {
  // breg7 8; breg16 0; lit15; and; lit11; ge; lit3; shl; plus
  const std::uint8_t code[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
  const auto start = reinterpret_cast<std::uint64_t>(code);
  const Expression expression{start, start + sizeof(code)};
  EXPECT_EQ(shape_of(expression, 0x401000).kind, Shape::Kind::Sp);
  EXPECT_EQ(shape_of(expression, 0x401000).offset, 8);
  EXPECT_EQ(shape_of(expression, 0x40100b).offset, 16);
  Registers registers{};
  registers.value[kSp] = 0x7000;
  registers.value[kReturn] = 0x40100b + 1;
  const StackReader reader{[](void*, std::uint64_t, std::uint64_t&) { return false; }, nullptr};
  std::uint64_t result = 0;
  ASSERT_TRUE(evaluate(expression, registers, reader, nullptr, result));
  EXPECT_EQ(result, 0x7010u);
}
#endif

TEST(Expression, CfaInMemory) {
  const std::uint8_t code[] = {0x70 + kFp, 0x78, 0x06};  // breg -8; deref
  const auto start = reinterpret_cast<std::uint64_t>(code);
  const Shape shape = shape_of({start, start + sizeof(code)}, 0);
  EXPECT_EQ(shape.kind, Shape::Kind::AtBp);
  EXPECT_EQ(shape.offset, -8);
}

TEST(Expression, LoopsAndUnderflowEnd) {
  const std::uint8_t loop[] = {0x31, 0x2f, 0xfc, 0xff};  // lit1; skip -4
  const std::uint8_t pops[] = {0x22, 0x22};
  Registers registers{};
  const StackReader reader{[](void*, std::uint64_t, std::uint64_t&) { return false; }, nullptr};
  std::uint64_t result = 0;
  EXPECT_FALSE(evaluate({reinterpret_cast<std::uint64_t>(loop), reinterpret_cast<std::uint64_t>(loop) + 4}, registers,
                        reader, nullptr, result));
  EXPECT_FALSE(evaluate({reinterpret_cast<std::uint64_t>(pops), reinterpret_cast<std::uint64_t>(pops) + 2}, registers,
                        reader, nullptr, result));
}

TEST(Rule, KeepsItsParts) {
  for (const std::int64_t cfa : {-64, 0, 8, 16, 8 << 20, 64 << 20}) {
    for (const std::int64_t rbp : {-16384, -16, 0, 8, 16376}) {
      if (!Rule::fits(cfa, rbp)) continue;
      const Rule rule = Rule::make(RuleKind::BpSaved, cfa, rbp).with_row(0x3abcde).with_needs_rbp();
      EXPECT_EQ(rule.cfa_offset(), cfa);
      EXPECT_EQ(rule.rbp_offset(), rbp);
      EXPECT_EQ(rule.row(), 0x3abcdeu);
      EXPECT_EQ(rule.kind(), RuleKind::BpSaved);
      EXPECT_TRUE(rule.simple() && rule.saves_rbp() && rule.cfa_from_rbp() && rule.needs_rbp());
    }
  }
  EXPECT_FALSE(Rule::fits(12, 0));
  EXPECT_FALSE(Rule::fits(64 << 20, 0));
}

}  // namespace
}  // namespace tare::recorder
