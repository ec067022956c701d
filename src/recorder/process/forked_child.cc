// The child of a fork: a spool of its own, beginning where the parent's thread stood.
#include <cstring>

#include <errno.h>

#include "recorder/base/syscall.h"
#include "recorder/foreign/pool_table.h"
#include "recorder/process/process_facts.h"
#include "recorder/recorder.h"
#include "recorder/watch/watch.h"

namespace tare::recorder {

// Of the parent's threads only the one that forked lives on. A calling thread that has a block is that one. A thread
// without a block was started by the child, before the forking thread made an event: then any of the blocks may be the
// forking thread's. So none is used again, although no thread has its tid here, and its owner gets a new number at its
// next event.
void Recorder::leave_parents_threads() {
  if (this_thread == nullptr) {
    ++recording_;
    retire_threads();
    for (Thread* thread = threads_; thread != nullptr; thread = thread->next) thread->borrowed = true;
    return;
  }
  for (Thread* thread = threads_; thread != nullptr; thread = thread->next) {
    thread->alive = thread == this_thread;
    thread->ended = false;  // their numbers are the parent's
  }
  this_thread->borrowed = true;  // its tid is the parent's until assign()
}

// A signal handler may fork while it interrupts a hook. The child then finishes that hook's event, in a chunk of its
// own that has no reader. The parent does as well: there the event is recorded. A child that was forked outside of
// hooks writes nothing before become_child(). It only must not mark its last hook as finished in the parent's chunk.
void Recorder::part_from_parent(Thread& thread) {
  if (!is_inherited()) return;  // a call that shares memory after all
  const auto pid = static_cast<std::uint32_t>(sys::getpid());
  if (parted_pid_ == pid) return;
  parted_pid_ = pid;
  if (thread.gate.load(std::memory_order_relaxed) == Gate::Ready &&
      (thread.attention.load() & ~std::uint32_t{kWatched}) == 0) {
    thread.control = &thread.idle_control;
    thread.cursor = thread.end = thread.begin = nullptr;
    thread.chunk = kNoChunk;
    return close_tables();
  }
  const bool has_chunk = thread.chunk != kNoChunk && thread.recording == recording_;
  spool_->make_private(has_chunk ? thread.begin : nullptr, thread.control);
  close_tables();
}

bool Recorder::become_child() {
  // Found out at the child's first event: alive() is false for all threads.
  Phase recording = Phase::Recording;
  if (!phase_.compare_exchange_strong(recording, Phase::Starting, std::memory_order_acq_rel)) return false;
  const sys::SignalsBlocked blocked;
  if (wiped_page_[kOwnWord] != 0) {  // another thread has begun the next recording since alive() was false
    phase_.store(Phase::Recording, std::memory_order_release);
    return false;
  }
  Thread* self = this_thread;
  const bool is_known = self != nullptr && self->recording == recording_;
  ForkOrigin origin{};
  origin.parent_image = spool_->header()->image_index;
  origin.parent_pid = process_id_;
  origin.thread = is_known ? self->id : 0xffffffff;
  origin.stamp = is_known ? self->fork_stamp : fork_stamp_.load(std::memory_order_relaxed);
  if (is_known) origin.thread_events = self->events;
  // The fork itself is unseen where it was an instruction of the program's. This process's copy of its parent's threads
  // ends with it: of their events the last one was before, and all later ones come after.
  for (const Thread* thread = threads_; thread != nullptr; thread = thread->next) {
    if (thread->recording == recording_ && thread->newest_stamp > origin.stamp) origin.stamp = thread->newest_stamp;
  }
  ++forks_;
  lock_.reset();
  watch.become_child();
  resting_spool_.store(nullptr, std::memory_order_relaxed);  // its parent's
  dropping_.store(false, std::memory_order_relaxed);
  asked_for_exit_.store(false, std::memory_order_relaxed);
  asking_.store(false, std::memory_order_relaxed);
  leave_parents_threads();
  described_pools.forget_all();
  close_tables();
  parent_spool_ = spool_;
  spool_ = unused_spool();
  live_threads_.store(0, std::memory_order_relaxed);

  const bool made = make_spool(&origin);
  if (!made && launcher_.life() != LauncherLife::Alive) {
    // As if detached together with its parent: a later attach finds the tables with which its next spool begins.
    spool_ = parent_spool_;
    parent_spool_ = nullptr;
    rendezvous.wish.store(trace::RecorderWish::Detached, std::memory_order_release);
    phase_.store(Phase::Recording, std::memory_order_release);
    return false;
  }
  // Most children execute another program next, which unmaps the parent's spool anyway: see drop_parents_spool(). The
  // thread that forked, if it is not this one, may still be in a hook that writes there.
  if (self != nullptr) inherited_spool_ = parent_spool_;
  parent_spool_ = nullptr;
  if (made && self != nullptr) {
    const bool is_locked = lock_.lock();  // other threads may be attached since there is a spool
    assign(self);
    if (is_locked) lock_.unlock();
  }
  if (!made) {
    alive_ = &never_alive_;
    phase_.store(Phase::Off, std::memory_order_release);
  }
  return made;
}

// The parent's spool takes memory as long as a child maps it.
void Recorder::drop_parents_spool() {
  Spool* const inherited = inherited_spool_.exchange(nullptr, std::memory_order_acq_rel);
  if (inherited != nullptr) inherited->abandon();
}

// Adds what `source` has beyond the entries of `target`, with which it begins. Rows refer to modules and modules to
// strings that were complete before: counts are read in that order. False: no room.
bool Recorder::copy_tables(Spool& source, Spool& target) {
  const trace::SpoolHeader& from_header = *source.header();
  trace::SpoolHeader& to_header = *target.header();
  const std::uint32_t rows = from_header.row_count.load(std::memory_order_acquire);
  const std::uint32_t modules = from_header.module_count.load(std::memory_order_acquire);
  const std::uint32_t strings = from_header.string_bytes.load(std::memory_order_acquire);
  const std::uint32_t rows_before = to_header.row_count.load(std::memory_order_relaxed);
  const std::uint32_t modules_before = to_header.module_count.load(std::memory_order_relaxed);
  const std::uint32_t strings_before = to_header.string_bytes.load(std::memory_order_relaxed);
  using Region = Tables::Region;
  if (rows < rows_before || modules < modules_before || strings < strings_before ||
      !target.ensure(Region::Strings, strings) ||
      !target.ensure(Region::Modules, modules * sizeof(trace::ModuleEntry)) ||
      !target.ensure(Region::Rows, rows * sizeof(trace::Row))) {
    return false;
  }
  const Tables from = source.tables();
  const Tables to = target.tables();
  std::memcpy(to.strings + strings_before, from.strings + strings_before, strings - strings_before);
  std::memcpy(to.modules + modules_before, from.modules + modules_before,
              (modules - modules_before) * sizeof(trace::ModuleEntry));
  std::memcpy(to.rows + rows_before, from.rows + rows_before, (rows - rows_before) * sizeof(trace::Row));
  to_header.string_bytes.store(strings, std::memory_order_release);
  to_header.module_count.store(modules, std::memory_order_release);
  to_header.row_count.store(rows, std::memory_order_release);
  return true;
}

Errno Recorder::take_over_parent() {
  if (!copy_tables(*parent_spool_, *spool_)) return ENOSPC;
  const trace::SpoolHeader& parent = *parent_spool_->header();
  trace::SpoolHeader& child = *spool_->header();
  child.page_bytes = parent.page_bytes;
  child.allocator = parent.allocator;
  child.allocator_path = parent.allocator_path;
  child.exe = parent.exe;
  child.cwd = parent.cwd;
  child.command_line = parent.command_line;
  child.environment = parent.environment;
  child.kernel = parent.kernel;
  child.host = parent.host;
  write_process_ids(child, &parent);
  return 0;
}

}  // namespace tare::recorder
