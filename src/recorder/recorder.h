// The recorder of this process image: its start, its forked children, its threads, and the source of their chunks. One
// object a process, all static memory: zero is its valid initial state.
#pragma once

#include <atomic>
#include <cstdint>

#include "recorder/base/attributes.h"
#include "recorder/base/bounded_lock.h"
#include "recorder/base/notice.h"
#include "recorder/base/syscall.h"
#include "recorder/events/thread.h"
#include "recorder/spool/launcher_link.h"
#include "recorder/spool/spool.h"
#include "trace/model/moment_kind.h"
#include "trace/spool/rendezvous.h"

namespace tare::recorder {

enum class Phase : std::uint32_t {
  Waiting,   // nothing happened yet
  Asleep,    // no spool is needed yet: see trace/spool/rendezvous.h
  Starting,  // the spool is being made: calls meanwhile go unrecorded
  Recording,
  Off,  // no spool could be made: the program runs unrecorded
};

// Facts that a forked child inherits and writes into its own spool.
struct ForkOrigin {
  std::uint32_t parent_image;
  std::uint32_t parent_pid;
  std::uint32_t thread;
  std::uint64_t thread_events;
  std::uint64_t stamp;
};

extern TARE_HIDDEN trace::Rendezvous rendezvous;

class Recorder {
 public:
  // True once recording in this very process: false in a forked child until it has its own spool, for its copy of the
  // word lies in a page that the kernel wipes on fork (and not on vfork or in threads).
  TARE_INLINE bool alive() const { return *alive_ != 0; }
  // Alive, and every block is recorded: the case of the hooks' fast path.
  TARE_INLINE bool alive_and_exact() const { return *alive_ == kAlive; }
  TARE_INLINE bool alive_and_sampling() const { return (*alive_ & ~kLateBit) == kAliveSampling; }
  // Sampling, and the size of a small block follows from the request.
  TARE_INLINE bool decides_early() const { return arch::equals<kAliveSampling>(*alive_); }
  bool off() const { return phase_.load(std::memory_order_relaxed) == Phase::Off; }
  // Asleep since the process began, and no recording is requested yet.
  bool sleeps() const { return phase_.load(std::memory_order_relaxed) == Phase::Asleep && !wakes(); }
  // A recording is requested of a recorder that slept.
  static bool wakes() { return rendezvous.wish.load(std::memory_order_acquire) == trace::RecorderWish::Awake; }
  // Paused: new blocks aren't recorded, the ends of those that are known go on being so.
  bool paused() const { return (*alive_ & trace::kPausedBit) != 0; }
  // Paused, and the spool has no reader any more. True also in children that are forked then.
  bool detached() const { return rendezvous.wish.load(std::memory_order_acquire) == trace::RecorderWish::Detached; }
  // A launcher attaches to a process that was recorded before.
  bool has_new_orders() const {
    return rendezvous.orders != orders_taken_ && phase_.load(std::memory_order_acquire) == Phase::Recording &&
           rendezvous.wish.load(std::memory_order_acquire) == trace::RecorderWish::Awake;
  }
  bool sampling() const { return sample_bytes_ != 0; }
  bool free_stacks() const { return free_stacks_; }
  // Blocks are filled, and read when they end. Never on the fast path, which is for plain recording. Only while there
  // is a table of blocks.
  bool contents() const { return contents_.load(std::memory_order_acquire); }
  std::uint64_t sample_bytes() const { return sample_bytes_; }
  // Sampled events go to a watch file: only blocks count then.
  bool watching() const { return watching_.load(std::memory_order_relaxed); }
  // A launcher records this watched process exactly. False in a forked child: its parent's watch isn't its own.
  bool watch_rests() const { return resting_spool_.load(std::memory_order_acquire) != nullptr && !is_inherited(); }
  // It rests, or is about to: the end of a sample would be lost in between, and the sample would stay for ever.
  bool ends_beside_watch() const {
    return watch_rests() || (watching() && !alive() && wiped_page_ != nullptr && !is_inherited());
  }
  // After that launcher has detached. False: not now, or never.
  bool resume_watch();
  Spool& spool() { return *spool_; }

  // Makes the spool if that's still to do. `environment` may be null very early in a process: then it's tried again
  // later.
  void start(char** environment);
  // To the launcher, if there is one: `program`, which this process starts or becomes, can't be recorded.
  void leave_notice(Notice& notice, const char* program, const char* reason) {
    if (launched_ && !notice.leave(directory_, program, reason)) launcher_.count_unrecorded();
  }
  // The program is about to forbid itself, and thereby the recorder, to map memory: maps enough memory for chunks that
  // a launcher drains in turn.
  void prepare_for_filter();
  // Is this, as /proc/self/maps has it, a file of the recording?
  bool is_own_file(const char* path) const;
  // Later events of the program can't be recorded.
  void stop();
  const char* program() const { return program_[0] != '\0' ? program_ : "program"; }
  // Another program is about to replace this process image: marks it in the spool. False: not recorded, or the child of
  // a vfork, which only borrows its parent's memory.
  bool begin_exec();
  void take_back_exec();  // it failed
  // Waking the launcher is forbidden: it has to look by itself.
  void flag_unheard();
  // Called when an access of this address raised SIGBUS. If a file of the recording is mapped there, zeros of the
  // process's own replace the mapping, and if the file is the spool, the recording ends. False: it's another address.
  bool outlive_cut_file(std::uint64_t address);
  // The child of a vfork: the memory is its parent's.
  bool borrows_memory() const { return !is_inherited() && static_cast<std::uint32_t>(sys::getpid()) != process_id_; }
  // The program's malloc isn't ours: little or nothing will be recorded.
  void flag_bypassed();
  // Replaces the allocators that the launcher's table describes, in a process that has them; flag_bypassed() otherwise
  // where the program's malloc isn't ours.
  void find_foreign_allocators();
  // The process is about to exit: if the launcher requested it, waits for the final snapshot. Once a process, and a
  // bounded time: a launcher that is dead, stopped or busy elsewhere holds up no exit.
  void request_exit_snapshot();
  // Likewise: writes the process's peak resident size and its title into the spool.
  void note_last_facts();
  // The program requests a snapshot with that name: waits for it as long as before an exit.
  void request_named_snapshot(trace::StringRef name);
  // At the process's end: marks it in the spool. Events that other libraries' destructors make still follow.
  void end();

  // The state of the calling thread, made at its first event; null when it can't be recorded.
  Thread* attach_thread();
  // Before a hook begins, while no handler can have queued anything, and without waiting for room.
  void open_first_chunk(Thread* thread);
  // The thread's last destructor round: its chunk goes to the launcher.
  void detach_thread(Thread* thread);
  // Follows new orders: another spool, with new thread numbers. Does nothing while a thread is still inside a hook that
  // began before.
  void restart();
  // Makes a thread of an earlier recording one of this. False: not now.
  bool renew(Thread* thread);
  // In the child of fork(), before all else. The kernel has wiped the page already; qemu's user mode (version 7.2)
  // accepts the advice and ignores it, and parent and child would write into one chunk.
  void wipe_page_in_child() {
    if (wiped_page_ != nullptr && wiped_page_[kOwnWord] != 0) *wiped_page_ = wiped_page_[kOwnWord] = 0;
  }
  // The first step in the forked child of a recorded process, or at its first event inside a hook: replaces memory that
  // it shares with its parent by memory of its own, because a hook that the fork interrupted continues to write.
  void part_from_parent(Thread& thread);
  // The calling thread is about to fork, recorded so far or not.
  void note_fork_begins(std::uint64_t stamp) {
    if (this_thread != nullptr) this_thread->fork_stamp = stamp;
    fork_stamp_.store(stamp, std::memory_order_relaxed);
  }
  // The child of a fork: its own spool, its own thread numbers, the parent's mappings gone. False: no spool, recording
  // is off.
  bool become_child();

  // Room for `words` more: in the chunk of `thread`, of which only the beginning was backed by memory, else in a new
  // one. False: dropped (counted): the event can't be written.
  bool next_chunk(Thread* thread, std::uint64_t words);
  // Of a watched process, at the end of a hook: its events go to the watch file.
  void apply_watched(Thread* thread);
  // Room up to the end of the thread's chunk again, after there was none on purpose.
  void set_end(Thread* thread);
  // Where a hook was left for good: the thread goes on behind the last event that is there as a whole.
  void recount(Thread* thread);
  // The thread keeps no chunk open from now on.
  void close_chunk(Thread* thread);
  void count_dropped(Thread* thread, std::uint64_t events);
  void count_truncated() { spool_->header()->truncated_stacks.fetch_add(1, std::memory_order_relaxed); }
  void count_unwind_failure() { spool_->header()->unwind_failures.fetch_add(1, std::memory_order_relaxed); }
  void count_unwind_gap(std::uint32_t row);
  void count_nested() { spool_->header()->nested_events.fetch_add(1, std::memory_order_relaxed); }

  // Events lost without a thread's stream to count them: no state for the thread, or a nested event's queue was full.
  // Between two recordings there is no counter: a thread that reaches this late from the first one finds that the
  // second's spool isn't made yet.
  void count_unattached() {
    if (trace::SpoolHeader* const header = spool_->header(); header != nullptr)
      header->dropped_events.fetch_add(1, std::memory_order_relaxed);
  }
  void count_dropped_nested() { spool_->header()->dropped_events.fetch_add(1, std::memory_order_relaxed); }

  static void on_thread_exit(void* thread);  // key destructor

 private:
  static constexpr std::uint32_t kAlive = 1;
  static constexpr std::uint32_t kAliveSampling = 2;
  static constexpr std::uint32_t kAliveContents = 3;
  static constexpr std::uint32_t kLateBit = 4;  // sampling: another allocator's blocks are decided after the call
  // The word beside it: not zero in the process that made the spool, and in a vfork child of it.
  static constexpr int kOwnWord = 1;

  bool wants_to_sleep();
  void fall_asleep();
  void wake_up();
  void take_orders();
  bool is_quiet();
  void retire_threads();
  void leave_recording();
  void leave_parents_threads();
  void drop_parents_spool();
  Spool* unused_spool();
  std::uint32_t alive_word() const;
  void rest_watch(Spool& spool);
  void give_up_watch();
  bool wake_watch(bool goes_on);
  void make_exit_key();
  void choose_hooks() const;
  bool can_ask_for_moment() const;
  void request_snapshot(trace::MomentKind kind, trace::StringRef name);
  void wait_for_moment(trace::MomentKind kind, trace::StringRef name);
  bool make_spool(const ForkOrigin* origin);
  Errno fill_spool(const ForkOrigin* origin);
  static bool copy_tables(Spool& source, Spool& target);
  Errno take_over_parent();
  Errno open_standalone();
  void fill_header(const ForkOrigin* origin);
  void read_environment(char** environment);
  void name_program(const char* exe, std::uint64_t bytes);
  void look_up_program();
  std::uint32_t take_chunk(const Thread* thread, std::uint64_t bytes, const sys::SignalsBlocked& blocked);
  // In a forked child, inside a hook that began in its parent.
  bool is_inherited() const { return wiped_page_[kOwnWord] == 0; }
  std::uint32_t take_or_grow(std::uint64_t bytes);
  bool extend_chunk(Thread* thread, std::uint64_t words);
  bool make_watched_room(Thread* thread, std::uint64_t words);
  void read_watch_environment(char** environment);
  void complain_of_stopped_watch();
  static void complain_of_budget(const char* limits);
  void remove_own_watch_files();
  void end_watch(Spool& spool) const;
  void make_watch_file_real();
  void check_launcher();
  void open_chunk(Thread* thread, std::uint32_t chunk);
  void give_up_chunk(Thread* thread);
  Thread* reusable_block();
  bool is_gone(const Thread* thread) const;
  void bury(Thread* thread);
  bool assign(Thread* thread);
  void complain(const char* folder, Errno error);
  void complain_of_full_disk();
  void complain_of_cut_spool();

  const volatile std::uint32_t* alive_ = &never_alive_;
  static const std::uint32_t never_alive_;
  // The second for a forked child, and for the next recording of this process, while the first is still read. The third
  // for a second exact recording while the watch rests. 1.2 MiB, never in the file.
  static Spool spools_[3];
  std::atomic<Phase> phase_{Phase::Waiting};
  Spool* spool_ = &spools_[0];
  std::uint64_t sample_bytes_ = 0;
  std::uint64_t sample_seed_ = 0;
  std::uint64_t forks_ = 0;  // generations since the image's start
  // Of the last fork: for the child of a fork by a thread without events.
  std::atomic<std::uint64_t> fork_stamp_{0};
  std::uint64_t attached_ = 0;  // threads that were given a place, in all of them
  bool free_stacks_ = false;
  bool wants_contents_ = false;  // as in the environment or an order
  std::atomic<bool> contents_{false};
  bool record_environment_ = false;
  bool start_paused_ = false;
  bool slept_ = false;
  bool bypassed_ = false;
  std::atomic<bool> watching_{false};
  std::atomic<Spool*> resting_spool_{nullptr};  // the watch's, while a launcher records
  bool keeps_watch_file_ = false;
  std::uint64_t asleep_since_ns_ = 0;  // until there is a spool to store it in
  std::uint64_t first_asleep_ns_ = 0;  // 0: never
  std::uint32_t orders_taken_ = 0;     // of Rendezvous::orders
  std::uint32_t recording_ = 0;        // counts spools of this process: see Thread::recording
  std::uint64_t restart_since_ns_ = 0;
  bool launched_ = false;
  bool said_full_ = false;
  std::atomic<bool> asked_for_exit_{false};
  std::atomic<bool> asking_{false};    // a thread waits for a moment
  std::atomic<bool> dropping_{false};  // the last search for a chunk failed: others don't wait again
  std::uint32_t key_ = 0;              // pthread key for thread exit
  bool has_key_ = false;
  std::uint32_t process_id_ = 0;
  std::uint32_t parted_pid_ = 0;  // of the child that shares no memory with its parent any more
  std::atomic<std::uint32_t> live_threads_{0};
  std::uint64_t launched_bytes_ = 0;
  std::atomic<std::uint64_t> next_life_check_ns_{0};
  BoundedLock lock_;             // growth of the spool, and the list of threads
  Thread* threads_ = nullptr;    // all blocks ever made
  Thread* next_look_ = nullptr;  // where the search for an unused block goes on
  LauncherLink launcher_;
  char** environment_ = nullptr;
  std::uint32_t* wiped_page_ = nullptr;
  char directory_[kPathBytes] = {};  // where spools are made, absolute
  char program_[256] = {};           // base name, for messages and standalone spools; known with the first spool
  Spool* parent_spool_ = nullptr;    // while a forked child, or the next recording, copies from it
  std::atomic<Spool*> inherited_spool_{nullptr};  // a forked child's, mapped on until its first page is full
};

extern TARE_HIDDEN Recorder recorder;

}  // namespace tare::recorder
