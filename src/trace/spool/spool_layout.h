// The spool: the file that a recorded process maps and writes events into, and that the launcher drains.
//
// One spool a process image. Everything that a reader needs lies in the mapping, so that SIGKILL of either side loses
// at most the event being written. The file is sparse: regions have fixed offsets, and the recorder fallocates each
// region in steps before it touches it, so that a full disk is an error code and never a SIGBUS.
//
//   0            SpoolHeader                    one page
//   kStrings     StringPool: exe, command line, environment, module paths
//   kModules     ModuleEntry[kMaxModules]
//   kRows        Row[kMaxRows]
//   kControls    ChunkControl[kMaxChunks]
//   kChunks      chunk payloads, kChunkBytes each
//
// All integers are little-endian, as the machine's. Fields marked [r] are written by the recorder, [l] by the launcher.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "trace/model/allocator_kind.h"
#include "trace/model/sampling_rules.h"

namespace tare::trace {

inline constexpr char kSpoolMagic[8] = {'T', 'A', 'R', 'E', 'S', 'P', 'L', '\n'};
inline constexpr std::uint32_t kSpoolVersion = 1;

inline constexpr std::uint64_t kChunkBytes = 64 << 10;  // some 1,500 allocations: L2-sized, a small loss when dropped
inline constexpr std::uint64_t kMaxChunks = 1 << 20;    // 64 GiB without a launcher
inline constexpr std::uint64_t kDefaultLaunchedChunks = 1024;  // 64 MiB when a launcher drains; set by kEnvSpoolBytes
// 2 MiB, until the launcher has found out the memory limit of the process's control group: SpoolHeader::most_chunks.
inline constexpr std::uint32_t kUndecidedChunks = 32;
inline constexpr std::uint64_t kMaxModules = 0xffff;  // Row has 16 bits for it; 0xffff means none
inline constexpr std::uint64_t kMaxRows = 4 << 20;
inline constexpr std::uint64_t kMaxStringBytes = 16 << 20;
inline constexpr std::uint32_t kMaxFrames = 8191;     // 13 bits
inline constexpr std::uint32_t kMaxThreads = 0xffff;  // at a time: an event has 16 bits for the number

// Environment that hands the recording down (launcher to program to its children).
// Private directory (0700); absent: standalone, spool in the working directory.
inline constexpr char kEnvSpoolDir[] = "TARE_SPOOL_DIR";
inline constexpr char kEnvSpoolBytes[] = "TARE_SPOOL_BYTES";  // chunk space a process may take while a launcher drains
inline constexpr char kEnvSampleBytes[] = "TARE_SAMPLE_BYTES";  // mean bytes between samples; absent or 0: all
inline constexpr char kEnvSampleSeed[] = "TARE_SAMPLE_SEED";    // for repeatable sampling in tests
inline constexpr char kEnvRecordEnv[] = "TARE_RECORD_ENV";      // "1": keep the environment in the trace
inline constexpr char kEnvFreeStacks[] = "TARE_FREE_STACKS";    // "1": frees carry stacks too
inline constexpr char kEnvContents[] = "TARE_CONTENT";          // "1": blocks are filled, and read when they end
// "1": the recorder sleeps until it is attached or resumed.
inline constexpr char kEnvStartPaused[] = "TARE_START_PAUSED";

// Names inside the spool directory. A spool appears under its final name, complete with header, by rename.
//   PID.N.spool    N counts the process images of one pid (exec): 0, 1, ...
//   control        LauncherControl, made by the launcher before the program starts
//   PID.NS.unrecorded  a symbolic link to "PROGRAM\nREASON": a process that isn't recorded; the launcher takes it away
//   PID.NS.request     a symbolic link to "VERB PID NAME": what a user asks of the launcher (request_desk.h)
//   PID.NS.answer      a symbolic link to "ok TEXT" or "no TEXT": the launcher's answer, for the asker to take away
//   PID.tables         what an answer to that asker names, where it doesn't fit a link; for the asker to take away, too
inline constexpr char kControlName[] = "control";
inline constexpr char kSpoolSuffix[] = ".spool";
inline constexpr char kNoticeSuffix[] = ".unrecorded";
inline constexpr char kRequestSuffix[] = ".request";
inline constexpr char kAnswerSuffix[] = ".answer";
inline constexpr char kBytesSuffix[] = ".tables";

// Shared by the launcher and every recorded process. The launcher holds a POSIX write lock (fcntl F_SETLK) on the whole
// file while it lives; F_GETLK that finds none means it died, even if it is a zombie.
struct LauncherControl {
  char magic[8];  // "TARECTL\n"
  std::uint32_t version;
  std::uint32_t launcher_pid;
  alignas(64) std::atomic<std::uint32_t> wake;  // [r] bumped, then FUTEX_WAKE if `sleeping`: a chunk filled up, a spool
                                                // appeared or ended
  std::atomic<std::uint32_t> sleeping;          // [l] 1 while the launcher waits on `wake`
  std::atomic<std::uint32_t> wake_chunks;       // [l] full chunks a process lets gather before it wakes the launcher
  // [l] 1: a process requests a snapshot before it exits, and waits for it.
  std::atomic<std::uint32_t> exit_moments;
  std::atomic<std::uint32_t> unrecorded;  // [r] processes that can't reach the directory any more, not even by a link
  std::atomic<std::uint32_t>
      all_awake;  // [l] 1: processes that start from now on don't sleep, even with kEnvStartPaused
  std::atomic<std::uint32_t> requested;  // set by the writer of a request in the directory; see request_desk.h
  // [r] processes that began or ended; the launcher stores 0 before it searches the directory.
  alignas(64) std::atomic<std::uint32_t> changed_processes;
  std::atomic<std::uint32_t> wake_processes;  // [l] so many of them wake the launcher
  // [l] The budget of a recording by samples. The first three are there before the program starts, and hold for each
  // process. 0: no such limit.
  alignas(64) double cpu_share;  // of the process's CPU time
  std::uint64_t memory_bytes;
  std::uint32_t has_budget;  // 1: one of the limits, or that on disk
  // Of the distance between samples, so that the traces of all processes fit their limit on disk. Each process has at
  // least as many.
  std::atomic<std::uint32_t> doublings;
  std::atomic<std::uint32_t> disk_is_full;  // 1: no more samples, and no more processes
};

enum SpoolFlags : std::uint32_t {
  kSpoolStandalone = 1,  // no launcher: chunks are never reused
  kSpoolForked = 2,      // made after fork without exec: fork_* fields hold
  kSpoolEnded = 4,       // destructor ran: the process ended in order
  kSpoolTscIsClock = 8,  // stamps are CLOCK_MONOTONIC nanoseconds: this machine's TSC isn't invariant
  kSpoolSampled = 16,
  kSpoolFreeStacks = 32,
  kSpoolOrphaned = 64,    // the launcher died, and nothing was recorded any more once the chunks were full
  kSpoolUnheard = 256,    // the program's sandbox forbids it to wake the launcher, which has to look by itself
  kSpoolContents = 512,   // blocks are filled
  kSpoolBypassed = 128,   // the program has a malloc of its own in front of the recorder's: little is recorded
  kSpoolReplaced = 1024,  // this image is about to be replaced by exec; taken back where that fails
  kSpoolBudget = 4096,    // sampled, with limits for which the distance between samples doubles
  kSpoolSlept = 2048,     // there are blocks that were born while the recorder slept
};

struct StringRef {  // bytes [offset, offset + length) of the string pool; not terminated
  std::uint32_t offset;
  std::uint32_t length;
};

// Stacks that end in one object's code because it has no unwind table there.
struct UnwindGap {
  std::atomic<std::uint32_t> row_plus_1;  // the first such return address; 0: none
  std::atomic<std::uint32_t> reserved;
  std::atomic<std::uint64_t> stacks;
};
inline constexpr std::uint32_t kUnwindGaps = 16;

inline constexpr std::uint32_t kTitleBytes = 64;

struct SpoolHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_bytes;        // sizeof(SpoolHeader)
  std::atomic<std::uint32_t> flags;  // SpoolFlags
  std::uint32_t pid;
  std::uint32_t parent_pid;
  std::uint32_t image_index;  // N of PID.N.spool
  std::uint32_t page_bytes;
  AllocatorKind allocator;   // found at start
  StringRef allocator_path;  // file that malloc resolves to
  StringRef exe;             // /proc/self/exe
  StringRef cwd;
  StringRef command_line;  // NUL-separated
  StringRef environment;   // NUL-separated, empty unless requested
  StringRef kernel;        // uname release
  StringRef host;
  std::uint64_t start_realtime_ns;
  std::uint64_t start_monotonic_ns;  // with start_stamp: first calibration point of the stamps
  std::uint64_t start_stamp;
  std::uint64_t sample_bytes;  // 0: every allocation
  // fork without exec: where in the parent this image begins
  std::uint32_t fork_parent_image;  // image_index of the parent's spool (its pid is parent_pid at the time of fork)
  std::uint32_t fork_parent_pid;
  std::uint32_t fork_thread;  // ThreadId of the forking thread in the parent
  // [r] the kernel's VmHWM at the exit; 0: not known. The result of wait4 is never less than the launcher's own size at
  // the fork.
  std::atomic<std::uint32_t> peak_rss_kib;
  std::uint64_t fork_thread_events;  // events that thread had written: the child's inherited blocks are those live then
  std::uint64_t fork_stamp;
  // growing tables: entries [0, count) are complete
  alignas(64) std::atomic<std::uint32_t> string_bytes;
  std::atomic<std::uint32_t> module_count;
  std::atomic<std::uint32_t> row_count;
  std::atomic<std::uint32_t> chunk_count;   // controls [0, chunk_count) have been used at least once
  std::atomic<std::uint32_t> thread_count;  // ThreadIds given out
  // LIFO of free chunks: low 32 bits index + 1 (0: empty), high 32 bits a tag against ABA. Next links are
  // ChunkControl::next_free.
  alignas(64) std::atomic<std::uint64_t> free_chunks;
  alignas(64) std::atomic<std::uint32_t> full_chunks;  // chunks in state Full: recorder adds, launcher subtracts
  // [r] that may exist without the launcher's limit; 0: not known. The program waits if the launcher holds nearly all.
  std::atomic<std::uint32_t> chunk_limit;
  std::atomic<std::uint32_t> most_chunks;  // [l] that may exist; 0: not decided yet
  // counters, all [r]
  alignas(64) std::atomic<std::uint64_t> dropped_events;  // spool full and launcher too slow, stopped or dead
  std::atomic<std::uint64_t> truncated_stacks;
  std::atomic<std::uint64_t> unwind_failures;  // stacks that ended too early, for other reasons than unwind_gaps
  std::atomic<std::uint64_t> nested_events;    // from a signal handler inside a hook
  std::atomic<std::uint64_t> end_stamp;        // with kSpoolEnded
  std::uint64_t content_table;                 // with kSpoolContents: where the program has its ContentTable
  // A snapshot that the program requests, and for which it waits for a bounded time. Serials: equal ones mean that
  // there is no request.
  alignas(64) std::atomic<std::uint32_t> moment_asked;  // [r] bumped
  std::atomic<std::uint32_t> moment_kind;               // [r] a MomentKind
  std::atomic<std::uint32_t> moment_begun;              // [l] the serial under way: worth waiting longer for
  std::atomic<std::uint32_t> moment_done;               // [l] the serial answered; FUTEX_WAKE
  StringRef moment_name;                                // [r] of the requested snapshot; empty: none
  // How long the recorder slept, all in all, and since when (CLOCK_MONOTONIC) it does. Changed by the recorder before
  // it makes its spool, and by the launcher later.
  std::atomic<std::uint64_t> asleep_ns;
  std::atomic<std::uint64_t> asleep_since_ns;  // 0: it's awake
  std::uint64_t own_ranges;                    // where the program has its OwnRanges
  std::uint64_t pid_namespace;                 // inode of /proc/self/ns/pid, in which `pid` is a number; 0: not known
  std::atomic<std::uint32_t> python;           // [r] a python_word()
  // [r] How often the budget doubled the distance between samples, and CPU times since the recording began, as at the
  // last look: of the recorder and of the process.
  std::atomic<std::uint32_t> doublings;
  std::atomic<std::uint32_t> stopped_by;     // [r] the SamplingLimit that stopped sampling; 0: none
  std::atomic<std::uint64_t> stopped_at_ns;  // [r] CLOCK_MONOTONIC, of that
  std::atomic<std::uint64_t> recorder_cpu_ns;
  std::atomic<std::uint64_t> process_cpu_ns;
  UnwindGap unwind_gaps[kUnwindGaps];  // [r] by object; the last takes those of all further ones, too
  // [r] at the exit: the beginning of the first word of the command line, which servers overwrite. Terminated.
  char title[kTitleBytes];
};

struct ModuleEntry {
  std::uint64_t load_bias;  // address - load_bias = address in the ELF file's own terms (p_vaddr)
  std::uint64_t start;      // mapped range
  std::uint64_t end;
  StringRef path;               // the loader's name, made absolute; "[vdso]" for the vdso
  std::uint32_t generation;     // counts rescans that found a change
  std::uint8_t build_id_bytes;  // 0: none
  std::uint8_t build_id[20];
  std::uint8_t reserved[7];
};
static_assert(sizeof(ModuleEntry) == 64);

// One return address. Bits 0..47 address, bits 48..63 ModuleId (0xffff none). Symbols are looked up at address - 1. The
// interrupted pc above a signal frame is stored + 1, so that the rule needs no exception.
struct Row {
  std::uint64_t bits;
};

enum class ChunkState : std::uint32_t {
  Free = 0,
  Open = 1,  // a thread writes into it
  Full = 2,  // complete; the launcher may take it
  Held = 3,  // taken by the launcher, not yet safe in the trace file
};

struct alignas(64) ChunkControl {
  std::atomic<ChunkState> state;
  std::uint32_t thread;  // ThreadId
  std::uint64_t
      thread_chunk;           // serial of this chunk within its thread, from 0, no gaps (a drop is an event, not a gap)
  std::uint64_t first_event;  // events this thread wrote before this chunk
  std::atomic<std::uint32_t> committed;  // payload bytes that hold complete events; only grows while Open
  std::atomic<std::uint32_t> busy;  // 1 while the thread is inside a hook: its next stamp may already have been taken
  std::uint32_t next_free;
  std::uint32_t tid;                // kernel's
  std::uint64_t open_monotonic_ns;  // a calibration pair taken when the chunk was opened
  std::uint64_t open_stamp;
  std::uint64_t real_bytes;  // of the payload, backed by memory. the chunk's owner changes it
};
static_assert(sizeof(ChunkControl) == 64);

inline constexpr std::uint64_t kStrings = 64 << 10;
inline constexpr std::uint64_t kModules = kStrings + kMaxStringBytes;
inline constexpr std::uint64_t kRows = kModules + (4 << 20);
inline constexpr std::uint64_t kControls = kRows + kMaxRows * sizeof(Row);
inline constexpr std::uint64_t kChunks = kControls + kMaxChunks * sizeof(ChunkControl);
inline constexpr std::uint64_t kSpoolBytes = kChunks + kMaxChunks * kChunkBytes;
static_assert((kMaxModules + 1) * sizeof(ModuleEntry) <= (4 << 20));
static_assert(sizeof(SpoolHeader) <= 4096);

constexpr std::uint64_t chunk_offset(std::uint32_t chunk) { return kChunks + chunk * kChunkBytes; }

}  // namespace tare::trace
