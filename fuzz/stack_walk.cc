// Any bytes as the memory of a stopped process, which tare reads as root: its lists of objects, their hash tables and
// unwind tables, and its stack. They are found or not; never a read of this process's own memory by address, never a
// loop without end. The memory lies at a fixed address, so that a seed's addresses are valid.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "core/injection/safe_point.h"
#include "core/injection/stack_walk.h"

namespace {

using namespace tare::core;

constexpr std::uint64_t kMemory = 0x2000'0000;
constexpr std::size_t kMemoryBytes = 1 << 20;

// An input's first words; what is left out is 0.
struct Words {
  std::uint64_t headers, count, loader, vdso, table, rip, rsp, rbp, call;
};

std::uint8_t* memory() {
  static void* const at = ::mmap(reinterpret_cast<void*>(kMemory), kMemoryBytes, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (at != reinterpret_cast<void*>(kMemory)) std::abort();
  return static_cast<std::uint8_t*>(at);
}

void check(const WalkedStack& stack, const LoadedObjects& objects) {
  if (stack.frames.size() > 1000) std::abort();
  for (const WalkedFrame& frame : stack.frames) {
    const bool is_of_them = frame.object == nullptr || (frame.object >= objects.all().data() &&
                                                        frame.object < objects.all().data() + objects.all().size());
    if (!is_of_them || (frame.object == nullptr && frame.function != 0)) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Words words{};
  if (size < sizeof(words) || size > kMemoryBytes) return 0;
  std::memcpy(&words, data, sizeof(words));
  std::memcpy(memory(), data, size);
  user_regs_struct registers{};
  registers.rip = words.rip;
  registers.rsp = words.rsp;
  registers.rbp = words.rbp;
  registers.orig_rax = words.call;

  LoadedObject whole;
  whole.start = kMemory;
  whole.end = kMemory + kMemoryBytes;
  whole.eh_frame_header = words.table;
  const LoadedObjects one(::getpid(), 0, {whole});
  check(walk_stack(::getpid(), one, registers), one);

  const std::optional<LoadedObjects> listed =
      LoadedObjects::of(::getpid(), {words.headers, words.count, words.loader, words.vdso}, 5'000);
  if (listed) {
    check(walk_stack(::getpid(), *listed, registers), *listed);
    (void)SafePoint(::getpid(), *listed).is_at(registers);
  }
  std::memset(memory(), 0, size);
  return 0;
}
