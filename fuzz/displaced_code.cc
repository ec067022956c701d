// Any bytes as a function whose first instructions are moved: it is refused, or what is written fits its room, ends in
// a jump to the rest, and no instruction is longer than the function.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "recorder/foreign/displace.h"
#include "recorder/foreign/instruction.h"

namespace {

using namespace tare::recorder;

void decode_all(const std::vector<std::uint8_t>& code) {
  for (std::size_t at = 0; at < code.size();) {
    const Instruction instruction = decode_instruction(code.data() + at, code.size() - at);
    if (instruction.kind == InstructionKind::Unknown) return;
    if (instruction.length == 0 || instruction.length > code.size() - at) std::abort();
    if (instruction.field >= instruction.length) std::abort();
    if (instruction.kind != InstructionKind::Plain && instruction.kind != InstructionKind::End &&
        instruction.field != 0)
      (void)target_of(code.data() + at, instruction);
    at += instruction.length;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::uint8_t> code(data, data + size);
  decode_all(code);
  std::uint8_t out[kMostDisplacedBytes];
  const auto near = reinterpret_cast<std::uint64_t>(code.data()) - (1 << 20);
  const Displaced displaced = displace(code.data(), code.size(), out, near);
  if (displaced.refusal != nullptr) return 0;
  if (displaced.place + displaced.bytes > code.size() || displaced.bytes < kJumpBytes) std::abort();
  // A branch may become shorter: it loses its prefixes.
  if (displaced.written > kMostDisplacedBytes || displaced.written <= kJumpBytes) std::abort();
  std::int32_t distance = 0;
  std::memcpy(&distance, out + displaced.written - sizeof distance, sizeof distance);
  const std::uint64_t target = near + displaced.written + static_cast<std::uint64_t>(std::int64_t{distance});
  const std::uint64_t rest = reinterpret_cast<std::uint64_t>(code.data()) + displaced.place + displaced.bytes;
  if (out[displaced.written - kJumpBytes] != 0xe9 || target != rest) std::abort();
  return 0;
}
