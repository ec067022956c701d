// Any bytes as an object's .eh_frame_hdr and .eh_frame: rules are found or not, never a read outside of the bytes,
// never a loop without end. The first two bytes choose the addresses that are looked up.
#include <cstdint>
#include <vector>

#include "recorder/unwind/cfi.h"
#include "recorder/unwind/expression.h"

namespace {

using namespace tare::recorder;

void use(const CfiWork& work, std::uint64_t address) {
  Registers registers{};
  for (int i = 0; i < kRegisters; ++i) registers.value[i] = address + static_cast<std::uint64_t>(i) * 8;
  const StackReader memory{[](void*, std::uint64_t at, std::uint64_t& value) {
                             value = at * 3;
                             return at % 5 != 0;
                           },
                           nullptr};
  std::uint64_t result = 0;
  if (work.row.cfa.kind == CfaRule::Kind::Expression) {
    evaluate(work.row.cfa.expression, registers, memory, nullptr, result);
    shape_of(work.row.cfa.expression, address);
  }
  for (const RegisterRule& rule : work.row.registers) {
    if (rule.kind != RegisterRule::Kind::AtExpression && rule.kind != RegisterRule::Kind::IsExpression) continue;
    evaluate(rule.expression, registers, memory, &address, result);
    shape_of(rule.expression, address);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  // A copy of its own size, so that the sanitizer sees the first byte too many.
  const std::vector<std::uint8_t> bytes(data + 2, data + size);
  UnwindTable table;
  table.header = reinterpret_cast<std::uint64_t>(bytes.data());
  table.image.add({table.header, table.header + bytes.size()});
  CfiWork work;
  const std::uint64_t step = data[0] * 16 + 1u;
  std::uint64_t address = table.header + data[1] * 256u;
  for (int i = 0; i < 16; ++i, address += step) {
    if (find_cfi_row(table, address, work) == CfiResult::Found) use(work, address);
  }
  return 0;
}
