// The stack capture of the recorder: .eh_frame rules, cached per return address, with the outer frames reused after
// verification. No malloc, no exceptions, no loader lock; callable from inside any allocation hook.
//
// Behind this interface other sources of frames (frame pointers, a hardware shadow stack) may join: they'd fill the
// same Capture from the same StartState.
#pragma once

#include <cstdint>

#include "trace/spool/spool_layout.h"

namespace tare::recorder {

class Weaver;

// The hook's caller right after the call returns: return_address = __builtin_return_address(0) in the hook, sp =
// __builtin_dwarf_cfa(), rbp = the caller's (in a hook compiled with -fno-omit-frame-pointer:
// *(uint64_t*)__builtin_frame_address(0)).
struct StartState {
  std::uint64_t return_address;
  std::uint64_t sp;
  std::uint64_t rbp;
};

// The stack is `rows[0..fresh)` and then the `kept` outermost frames of the stack captured before. Valid until the next
// call.
struct Capture {
  std::uint32_t kept;
  std::uint32_t fresh;
  const std::uint32_t* rows;  // fresh rows, innermost first: trace::RowId values
  std::uint32_t depth;        // kept + fresh, at most trace::kMaxFrames
  bool truncated;             // outermost frames are missing: the stack is deeper than the limit
  bool complete;              // the walk reached the outermost frame (or the limit)
};

// The stack of one thread. Lives in a zero-initialised mmap'd block (zero is its valid initial state, nothing to
// construct or destroy); some 900 KiB of address space, of which only as much is touched as the stacks are deep. Not
// reentrant: a signal handler that interrupts capture() must not call it on the same Unwinder. A longjmp out of one is
// fine.
class Unwinder {
 public:
  Capture capture(const StartState& start);

  // Does the stack from `start` on pass the caller of a hook that returns to `return_address`, its stack pointer then
  // at `sp`? The state of an earlier capture is cleared.
  bool passes(const StartState& start, std::uint64_t return_address, std::uint64_t sp);

  // The recorder's hook that a signal interrupted on the stack from `start` on: where it returns to, its stack pointer
  // then.
  // The state of an earlier capture is cleared.
  enum class Interrupted : std::uint8_t { Nothing, Hook, Unknown };
  Interrupted interrupted(const StartState& start, std::uint64_t& return_address, std::uint64_t& sp);

  // The next capture emits every frame (kept = 0): at a new chunk, and whenever the last capture wasn't written out.
  void forget() { emitted_ = 0; }

  // Everything stored is dropped: the block is given to another thread.
  void reset();

  // The last capture isn't complete: does its stack end in code without unwind table? `row` is the return address
  // there.
  bool ends_without_table(std::uint32_t& row);

  struct State;  // unwinder.cc

 private:
  Capture capture_woven(const StartState& start, std::uint64_t generation);

  friend struct State;
  // The rows last used, by the low bits of their addresses, which are as good as random: 16 KiB, where the shared table
  // spreads them over half a megabyte. Capturing in cc1plus, by samples: 34 ns an event with 512 of them,
  // 28 with 1,024, 27 with 2,048.
  static constexpr std::uint64_t kRecentRows = 1024;
  struct RecentRow {
    std::uint64_t pc;  // 0: empty
    std::uint64_t rule;
  };

  std::uint32_t emitted_;  // 1: the reader has the stored stack
  alignas(64) RecentRow recent_[kRecentRows];
  alignas(64) std::uint64_t storage_[112 * 1024];
  Weaver* weaver_;  // made at the thread's first Python frame
};

// The tables that rows and modules are published in: the spool's, or private memory in a checker. Row 0 is made by
// attach_tables() and means "a return address that found no room".
struct Tables {
  enum class Region : std::uint8_t { Rows, Modules, Strings };

  trace::Row* rows;
  std::atomic<std::uint32_t>* row_count;
  trace::ModuleEntry* modules;
  std::atomic<std::uint32_t>* module_count;
  std::uint32_t module_limit;  // at most so many are published, kMaxModules or fewer
  char* strings;
  std::atomic<std::uint32_t>* string_bytes;
  std::uint64_t string_limit;          // bytes that the strings may take, kMaxStringBytes or fewer; 0: as many as that
  std::atomic<std::uint32_t>* python;  // a python_word(); null: nobody reads it
  trace::StringRef exe;                // where the strings hold the program's path; empty: not yet
  // Makes the first `bytes` of the region writable; false: no room (disk full). Called with a lock held: it must not
  // allocate or call into the loader. It's called with rising sizes, once a page or so.
  bool (*ensure)(void* context, Region region, std::uint64_t bytes);
  void* context;
};

// As Tables::ensure of tables that nothing may join.
inline bool nothing_more(void*, Tables::Region, std::uint64_t) { return false; }

// Once before the first capture. Again in a forked child when it has its own spool: the child must first have copied
// the parent's strings, modules and rows (the first `count` of each, same offsets) into it, so that every id stays
// valid; this call also frees our locks, which another thread of the parent may have held.
void attach_tables(const Tables& tables);

// Nothing joins the tables until others are attached: in a forked child they are its parent's.
void close_tables();

// Appends a string to the pool. False: no room. The pool's second half is kept for modules.
bool publish_string(const char* text, std::uint32_t length, trace::StringRef& place);

// Around the real dlclose: meanwhile no module's memory is read, except by threads that have its code on the stack.
void begin_unloading();
void end_unloading();
// After dlclose returned: rows of objects that are gone are retired, so that the same addresses get new rows later.
void modules_changed();
// The same for objects that went without our noticing (libc closes some itself): a few ns a loaded object; at a chunk
// switch.
void revalidate_modules();
// After munmap, mprotect or mremap by the program: a readable stack may have become unreadable.
void mappings_changed();

struct UnwindCounters {
  std::uint64_t unknown_pcs;   // frames without unwind table, stepped by frame pointer
  std::uint64_t failures;      // stacks that ended before the outermost frame, in code with unwind table
  std::uint64_t full_walks;    // frames that needed registers beyond rsp and rbp
  std::uint64_t rows_lost;     // frames recorded as row 0
  std::uint64_t rows_retired;  // by dlclose
};
UnwindCounters unwind_counters();

}  // namespace tare::recorder
