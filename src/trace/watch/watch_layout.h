// The watch file: a sampled heap profile of one process image, kept complete in a file of fixed size.
//
// The recorder of a watched process maps it and writes to it at sampled events only. Nothing else is needed to read it:
// after SIGKILL the file holds all but the event that was being written. The file is sparse. A region's pages are made
// real before they are touched. The layout:
//
//   0              SpoolHeader with kWatchMagic    one page: facts of the process, counts of the tables
//   kWatchState    WatchState                      one page
//   kWatchStrings  bytes of strings
//   kWatchModules  ModuleEntry[kWatchMaxModules]
//   kWatchRows     Row[kWatchMaxRows]
//   kWatchNodes    WatchNode[kWatchMaxNodes]       the stacks as a tree; only appended
//   kWatchSums     WatchSum[kWatchMaxSums]         what was allocated and freed, by stack
//   kWatchSamples  WatchSample[kWatchMaxSamples]   the sampled blocks that are live
//
// Every entry is valid on its own. Nodes, rows, modules and strings are never changed once they are counted. A sample
// has a check word over its other words: it is written last and cleared first. The totals are two copies with checks,
// written in turn. WatchState::sequence is odd while a writer is inside.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "trace/spool/spool_layout.h"

namespace tare::trace {

inline constexpr char kWatchMagic[8] = {'T', 'A', 'R', 'E', 'W', 'C', 'H', '\n'};
inline constexpr std::uint32_t kWatchVersion = 1;

inline constexpr char kEnvWatch[] = "TARE_WATCH";              // an absolute path: the folder of watch files
inline constexpr char kEnvWatchSample[] = "TARE_SAMPLE";       // mean bytes between samples: 524288, 512K, 2M
inline constexpr char kEnvWatchKeep[] = "TARE_WATCH_KEEP";     // "1": the file stays after an exit in order
inline constexpr char kEnvWatchBudget[] = "TARE_BUDGET";       // "cpu=0.5%,memory=16M,disk=1M"
inline constexpr std::uint64_t kWatchSampleBytes = 512 << 10;  // without TARE_SAMPLE
inline constexpr char kWatchSuffix[] = ".watch";

inline constexpr std::uint64_t kWatchStringBytes = 512 << 10;
inline constexpr std::uint64_t kWatchMaxModules = 2048;
inline constexpr std::uint64_t kWatchMaxRows = 64 << 10;
inline constexpr std::uint64_t kWatchMaxNodes = 128 << 10;
inline constexpr std::uint64_t kWatchMaxSums = 8 << 10;
inline constexpr std::uint64_t kWatchMaxSamples = 16 << 10;

// Why nothing is recorded any more.
enum class WatchStop : std::uint32_t {
  None = 0,
  Full = 1,      // too many sampled blocks are live, and a greater distance between samples didn't help
  NoSpace = 2,   // the file system had no room for the file's next pages
  Recorded = 3,  // a launcher attached: another recording has the process's blocks from then on
  // A limit of the budget couldn't be kept by any distance between samples.
  CpuBudget = 4,
  MemoryBudget = 5,
  DiskBudget = 6,
  // A launcher records the process exactly. Ends of samples go on being noted, and new ones have no stack. The watch
  // resumes when the launcher has detached.
  Resting = 7,
};

// A frame of a stack: the caller's frame and this one's row. Id 0 is the empty stack; node i has id i + 1, and its
// parent is an older node.
struct WatchNode {
  std::uint32_t parent;  // id
  std::uint32_t row;     // + 1; 0: the entry is empty
};
static_assert(sizeof(WatchNode) == 8);

// Of one stack, sums of weights. The first entry is for stacks that found no room.
struct WatchSum {
  std::uint32_t node;  // id of the innermost frame
  std::uint32_t reserved;
  double allocated_bytes;
  double allocated_blocks;
  double freed_bytes;
  double freed_blocks;
  std::uint64_t allocated_samples;
  std::uint64_t freed_samples;
  std::uint64_t unused;
};
static_assert(sizeof(WatchSum) == 64);

// Bits of WatchSample::traits.
inline constexpr std::uint32_t kWatchApiMask = 0x1f;  // AllocApi
inline constexpr int kWatchAlignShift = 8;            // 6 bits: log2 of the requested alignment; 0: none
inline constexpr std::uint32_t kWatchAlignMask = 0x3f;
inline constexpr std::uint32_t kWatchInherited = 1 << 16;  // allocated by the parent, before the fork
inline constexpr std::uint32_t kWatchResting = 1 << 17;    // allocated while the watch rested: without a stack

struct WatchSample {
  std::uint64_t address;  // 0: free
  std::uint64_t requested;
  std::uint64_t usable;
  double weight;        // >= 1: so many blocks stand for this one
  std::uint64_t stamp;  // of the allocation
  std::uint32_t node;   // id of the innermost frame; 0: none
  std::uint32_t thread;
  std::uint32_t traits;
  std::uint32_t check;  // watch_check() of the words before
  std::uint64_t unused;
};
static_assert(sizeof(WatchSample) == 64);

// Written whole, to the copy that the reader doesn't prefer: the one with the greater serial is the present.
struct WatchTotals {
  std::uint64_t serial;
  std::uint64_t realtime_ns;  // with the next two: the last calibration point of the stamps
  std::uint64_t monotonic_ns;
  std::uint64_t stamp;
  std::uint64_t sample_bytes;  // mean distance between samples now
  double allocated_bytes;
  double allocated_blocks;
  double freed_bytes;
  double freed_blocks;
  std::uint64_t allocated_samples;
  std::uint64_t freed_samples;
  std::uint64_t lost_events;  // that found no room, or the lock taken
  std::uint64_t inherited;    // sampled blocks of the parent's
  std::uint64_t widened;      // how often the distance was doubled
  std::uint32_t nodes;        // in use
  std::uint32_t sums;
  std::uint32_t sample_slots;  // samples lie in the slots before
  std::uint32_t live_samples;
  std::uint32_t stop;         // a WatchStop
  std::uint32_t lost_stacks;  // stacks that were cut because there was no room for their frames
  std::uint64_t check;        // watch_check() of the words before
};

// The limits that the process was given (0: none) and the use of them, each word by itself. All zero in a file of a
// recorder without budgets.
struct WatchBudget {
  double cpu_share;  // of the process's CPU time
  std::uint64_t memory_bytes;
  std::uint64_t disk_bytes;
  std::uint64_t recorder_ns;     // CPU time of sampled calls inside the recorder, since the file was made
  std::uint64_t process_ns;      // CPU time of the process since then
  std::uint64_t recorder_bytes;  // resident memory of the recorder with this file; 0: never measured
};

struct WatchState {
  std::atomic<std::uint64_t> sequence;
  std::uint64_t process_start_ticks;  // field 22 of /proc/PID/stat; 0: not known
  char boot_id[40];                   // of /proc/sys/kernel/random/boot_id, terminated
  std::uint64_t first_sample_bytes;
  alignas(64) WatchTotals totals[2];
  alignas(64) WatchBudget budget;
};

inline constexpr std::uint64_t kWatchState = 4096;
inline constexpr std::uint64_t kWatchStrings = 2 * 4096;
inline constexpr std::uint64_t kWatchModules = kWatchStrings + kWatchStringBytes;
inline constexpr std::uint64_t kWatchRows = kWatchModules + kWatchMaxModules * sizeof(ModuleEntry);
inline constexpr std::uint64_t kWatchNodes = kWatchRows + kWatchMaxRows * sizeof(Row);
inline constexpr std::uint64_t kWatchSums = kWatchNodes + kWatchMaxNodes * sizeof(WatchNode);
inline constexpr std::uint64_t kWatchSamples = kWatchSums + kWatchMaxSums * sizeof(WatchSum);
inline constexpr std::uint64_t kWatchBytes = kWatchSamples + kWatchMaxSamples * sizeof(WatchSample);
static_assert(sizeof(WatchState) <= 4096);
static_assert(kWatchBytes <= (4 << 20));

// Against words that were torn or foreign, not against an attacker. Never 0.
inline std::uint64_t watch_mix(const std::uint64_t* words, std::size_t count) {
  std::uint64_t sum = 0x243f6a8885a308d3;
  for (std::size_t i = 0; i < count; ++i) {
    sum = (sum ^ words[i]) * 0x9e3779b97f4a7c15;
    sum ^= sum >> 29;
  }
  return sum;
}
inline std::uint32_t watch_check(const WatchSample& sample) {
  constexpr std::size_t kWords = offsetof(WatchSample, traits) / 8;
  std::uint64_t words[kWords + 1];
  __builtin_memcpy(words, &sample, kWords * 8);
  words[kWords] = sample.traits;
  return static_cast<std::uint32_t>(watch_mix(words, kWords + 1) >> 32) | 1;
}
inline std::uint64_t watch_check(const WatchTotals& totals) {
  constexpr std::size_t kWords = offsetof(WatchTotals, check) / 8;
  std::uint64_t words[kWords];
  __builtin_memcpy(words, &totals, sizeof(words));
  return watch_mix(words, kWords) | 1;
}
static_assert(offsetof(WatchTotals, check) % 8 == 0 && offsetof(WatchSample, traits) % 8 == 0);

}  // namespace tare::trace
