// Where a launcher finds the recorder inside a running process: a place in the recorder library's own data, that is
// read and written from outside (/proc/PID/mem) while the process stands still. This is the only signal to a sleeping
// recorder that a recording is wanted: the recorder keeps no file, no descriptor and no thread for it.
#pragma once

#include <atomic>
#include <cstdint>

namespace tare::trace {

inline constexpr char kRendezvousMagic[16] = {'T', 'A', 'R', 'E', '-', 'R', 'E', 'N',
                                              'D', 'E', 'Z', 'V', 'O', 'U', 'S', '\n'};
inline constexpr std::uint32_t kRendezvousVersion = 3;

enum class RecorderWish : std::uint32_t {
  None = 0,  // as in the environment
  Awake = 1,
  Asleep = 2,    // blocks made from now on aren't recorded; the ends of known ones are
  Detached = 3,  // no events, as there is no reader any more; may become Awake with new orders
};

enum class RecorderState : std::uint32_t {
  NotStarted = 0,
  Asleep = 1,  // since the process began: it has no spool
  Recording = 2,
  Off = 3,
};

// The word that the recorder's hooks test. 0: no recording in this process (yet). Otherwise the lowest bits describe
// the recording; if one of these is set, the hooks take their slow path.
inline constexpr std::uint32_t kPausedBit = 1u << 4;
inline constexpr std::uint32_t kDetachedBit = 1u << 5;

// A reference of a loaded module that leads to the recorder instead of to the function that it was bound to.
struct TakenSlot {
  std::uint64_t address;
  std::uint64_t ours;
  std::uint64_t before;
};

struct Rendezvous {
  char magic[16];
  std::uint32_t version;
  std::uint32_t struct_bytes;
  std::atomic<RecorderWish> wish;    // [l]
  std::atomic<RecorderState> state;  // [r]
  std::uint64_t alive_word;          // [r] its address; 0: not made yet
  // [l] Orders of a launcher that attaches; followed once each, when `wish` becomes Awake. A recorder that made a spool
  // for an earlier one makes another: the word at `alive_word` is zero then, as in a forked child.
  std::uint64_t sample_bytes;
  std::uint32_t spool_flags;  // of SpoolFlags: FreeStacks, Contents
  std::uint32_t orders;       // how many there were
  char directory[1024];       // where the spool is to be made; empty: as in the environment
  // [r] Of a recorder that was loaded into a running program; 0 for one that was there from the start. The first is the
  // address of a function that makes the references of all modules lead to the recorder; its parameter is the handle of
  // dlopen(nullptr). A launcher calls it while no recording goes on. The second is an array of `slot_count` TakenSlot.
  std::uint64_t take_slots;
  std::uint64_t slots;
  std::uint64_t slot_count;
  // [r] Likewise: the address of a function that returns 1 if a seccomp filter (a sock_fprog) lets the recorder make
  // all its calls.
  std::uint64_t admit_filter;
};

}  // namespace tare::trace
