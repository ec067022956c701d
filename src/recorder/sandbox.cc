// Running a seccomp filter for the calls that the recorder makes.
#include "recorder/sandbox.h"

#include <cstddef>

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <sys/mman.h>

#include "recorder/recorder.h"
#include "recorder/unwind/stack_memory.h"

namespace tare::recorder {

namespace {

struct RecorderCall {
  int number;
  std::uint64_t arguments[5];
};

// All that the recorder asks of the kernel after its start, with the arguments that filters look at. docs/recording.md
// says when.
constexpr RecorderCall kCalls[] = {
    {SYS_mmap, {0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, ~0ull}},
    {SYS_munmap, {0, 4096}},
    {SYS_madvise, {0, 4096, 23}},
    {SYS_mincore, {0, 4096}},
    {SYS_mremap, {0, 0, 4096, MREMAP_MAYMOVE}},
    {SYS_rt_sigprocmask, {0, 0, 0, 8}},
    {SYS_futex, {0, 1, 1}},
    {SYS_nanosleep, {}},
    {SYS_gettid, {}},
    {SYS_getpid, {}},
    {SYS_getppid, {}},
    {SYS_tgkill, {}},
    {SYS_sigaltstack, {}},
    {SYS_statfs, {}},
    {SYS_fstat, {2}},
    {SYS_write, {2}},
    {SYS_openat, {static_cast<std::uint64_t>(AT_FDCWD), 0, O_RDWR | O_CLOEXEC | O_NOFOLLOW}},
    {SYS_read, {3}},
    {SYS_pread64, {3}},
    {SYS_close, {3}},
    {SYS_fcntl, {3, F_GETLK}},
    {SYS_fallocate, {3}},
    {SYS_pwrite64, {3}},
    {SYS_readlinkat, {static_cast<std::uint64_t>(AT_FDCWD)}},
    {SYS_getcwd, {}},
    {SYS_ftruncate, {3}},
    {SYS_lseek, {3, 0, SEEK_END}},
    {SYS_prlimit64, {}},
    {SYS_uname, {}},
    {SYS_renameat2, {static_cast<std::uint64_t>(AT_FDCWD), 0, static_cast<std::uint64_t>(AT_FDCWD), 0, 1}},
    {SYS_linkat, {static_cast<std::uint64_t>(AT_FDCWD), 0, static_cast<std::uint64_t>(AT_FDCWD)}},
    {SYS_unlinkat, {static_cast<std::uint64_t>(AT_FDCWD)}},
    {SYS_symlinkat, {0, static_cast<std::uint64_t>(AT_FDCWD)}},
    {SYS_faccessat, {static_cast<std::uint64_t>(AT_FDCWD), 0, 1}},
    {SYS_fgetxattr, {3}},
    {SYS_geteuid, {}},
    {SYS_getegid, {}},
    {SYS_prctl, {39}},
};

// The filter's answer; SECCOMP_RET_KILL_PROCESS for one that the kernel won't take anyway.
std::uint32_t run_filter(const sock_fprog& program, const seccomp_data& data) {
  const auto* bytes = reinterpret_cast<const char*>(&data);
  std::uint32_t accumulator = 0;
  std::uint32_t index = 0;
  std::uint32_t memory[BPF_MEMWORDS] = {};
  for (std::uint32_t at = 0; at < program.len; ++at) {
    const sock_filter& step = program.filter[at];
    const std::uint32_t operand = BPF_SRC(step.code) == BPF_X ? index : step.k;
    switch (BPF_CLASS(step.code)) {
      case BPF_LD:
      case BPF_LDX: {
        std::uint32_t value = step.k;
        if (BPF_MODE(step.code) == BPF_ABS) {
          if (step.k > sizeof(data) - sizeof(value)) return SECCOMP_RET_KILL_PROCESS;
          __builtin_memcpy(&value, bytes + step.k, sizeof(value));
        } else if (BPF_MODE(step.code) == BPF_MEM) {
          value = memory[step.k % BPF_MEMWORDS];
        } else if (BPF_MODE(step.code) == BPF_LEN) {
          value = sizeof(data);
        }
        (BPF_CLASS(step.code) == BPF_LD ? accumulator : index) = value;
        break;
      }
      case BPF_ST:
        memory[step.k % BPF_MEMWORDS] = accumulator;
        break;
      case BPF_STX:
        memory[step.k % BPF_MEMWORDS] = index;
        break;
      case BPF_ALU:
        switch (BPF_OP(step.code)) {
          case BPF_ADD:
            accumulator += operand;
            break;
          case BPF_SUB:
            accumulator -= operand;
            break;
          case BPF_MUL:
            accumulator *= operand;
            break;
          case BPF_DIV:
            accumulator = operand == 0 ? 0 : accumulator / operand;
            break;
          case BPF_AND:
            accumulator &= operand;
            break;
          case BPF_OR:
            accumulator |= operand;
            break;
          case BPF_XOR:
            accumulator ^= operand;
            break;
          case BPF_LSH:
            accumulator = operand < 32 ? accumulator << operand : 0;
            break;
          case BPF_RSH:
            accumulator = operand < 32 ? accumulator >> operand : 0;
            break;
          case BPF_NEG:
            accumulator = -accumulator;
            break;
          default:
            return SECCOMP_RET_KILL_PROCESS;
        }
        break;
      case BPF_JMP: {
        bool jump = true;
        switch (BPF_OP(step.code)) {
          case BPF_JA:
            at += step.k;
            continue;
          case BPF_JEQ:
            jump = accumulator == operand;
            break;
          case BPF_JGT:
            jump = accumulator > operand;
            break;
          case BPF_JGE:
            jump = accumulator >= operand;
            break;
          case BPF_JSET:
            jump = (accumulator & operand) != 0;
            break;
          default:
            return SECCOMP_RET_KILL_PROCESS;
        }
        at += jump ? step.jt : step.jf;
        break;
      }
      case BPF_RET:
        return BPF_RVAL(step.code) == BPF_A ? accumulator : step.k;
      default:  // BPF_MISC
        if (BPF_MISCOP(step.code) == BPF_TAX)
          index = accumulator;
        else
          accumulator = index;
    }
  }
  return SECCOMP_RET_KILL_PROCESS;
}

bool kills(const sock_fprog& filter, const RecorderCall& call) {
  seccomp_data data{};
  data.nr = call.number;
  data.arch = AUDIT_ARCH_X86_64;
  for (int i = 0; i < 5; ++i) data.args[i] = call.arguments[i];
  const std::uint32_t action = run_filter(filter, data) & SECCOMP_RET_ACTION_FULL;
  return action != SECCOMP_RET_ALLOW && action != SECCOMP_RET_LOG && action != SECCOMP_RET_ERRNO;
}

bool is_readable(const void* start, std::uint64_t bytes) {
  const auto address = reinterpret_cast<std::uint64_t>(start);
  for (std::uint64_t at = address; at < address + bytes; at += 8) {
    if (!probe_readable(at)) return false;
  }
  return bytes != 0 && probe_readable(address + bytes - 1);
}

}  // namespace

FilterGuard::FilterGuard(const sock_fprog* filter) : before_(sys::forbidden_calls) {
  // Nonsense is the kernel's to refuse.
  if (!is_readable(filter, sizeof(*filter)) || !is_readable(filter->filter, filter->len * sizeof(sock_filter))) return;
  sys::ForbiddenCalls forbidden = before_;
  for (const RecorderCall& call : kCalls) {
    if (kills(*filter, call)) forbidden.add(call.number);
  }
  if (forbidden.any && this_thread == nullptr) recorder.attach_thread();  // needs a mapping
  if (forbidden.has(SYS_madvise) || forbidden.has(SYS_mremap)) recorder.prepare_for_filter();
  if (forbidden.has(SYS_futex)) recorder.flag_unheard();
  sys::forbidden_calls = forbidden;
}

}  // namespace tare::recorder
