// The recorder inside a process that stands still, as its launcher reaches it: wakes it, pauses it, lets it go.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "core/snapshot/frozen_process.h"
#include "trace/base/result.h"
#include "trace/spool/rendezvous.h"

namespace tare::core {

// Settings of a sleeping recorder that is woken.
struct WakingOptions {
  std::string directory;  // of spools, absolute; empty: as in the process's environment
  std::uint64_t sample_bytes = 0;
  std::uint32_t spool_flags = 0;  // of trace::SpoolFlags: FreeStacks, Contents
};

class ProcessRecorder {
 public:
  // Looks in the data of the library called libtare-record.so, by /proc/PID/mem. CannotRecord where there's none, or
  // another version's.
  static Result<ProcessRecorder> find(const FrozenProcess& process);
  ProcessRecorder(ProcessRecorder&& other) noexcept;
  ProcessRecorder& operator=(ProcessRecorder&&) = delete;
  ~ProcessRecorder();

  // Its path as the process has it.
  const std::string& library() const { return library_; }
  trace::RecorderState state() const { return state_; }
  trace::RecorderWish wish() const { return wish_; }
  // Recording, new blocks included.
  bool is_awake() const;

  // Another living launcher has woken it and waits for its spool.
  bool is_waited_for() const;
  // It was recorded and its spool has no reader any more: its launcher has detached or is gone.
  bool is_let_go() const;

  // With a directory, another recording begins, at the process's next allocation. Without: a recorder that slept since
  // its process began starts then, a paused one is awake at once.
  Status wake(const WakingOptions& options);
  Status pause();
  // The process sleeps until an attach: each call costs a test of one word. If the recorder was loaded into a running
  // program, calls don't lead to it any more.
  Status detach();
  // Withdraws the request of wake(), if the process hasn't allocated since.
  Status take_back();

 private:
  ProcessRecorder(pid_t pid, int memory) : pid_(pid), memory_(memory) {}
  Status read_state();
  Status return_slots();
  Status put_wish(trace::RecorderWish wish);
  // Sets the word that the hooks test, if the recorder has made one.
  Status put_alive_bits(std::uint32_t bits);
  Status write(std::uint64_t address, const void* bytes, std::size_t count);

  pid_t pid_;
  int memory_;  // /proc/PID/mem
  std::string library_;
  std::uint64_t address_ = 0;
  trace::RecorderState state_ = trace::RecorderState::NotStarted;
  trace::RecorderWish wish_ = trace::RecorderWish::None;
  std::uint32_t orders_ = 0;
  std::string directory_;
  std::uint64_t alive_word_ = 0;
  std::uint32_t alive_ = 0;
  std::uint64_t slots_ = 0;  // of trace::TakenSlot
  std::uint64_t slot_count_ = 0;
};

// The recorder's library among a process's mappings: is there something to wake?
bool has_recorder(pid_t pid);

// Loads `library` (a path of this process) unless the process has a recorder. Its calls lead to the recorder from then
// on, also those of libraries that were loaded since an earlier attach. Does nothing for a process that was started
// with the recorder, or while a recording goes on. CannotRecord: see Injector::begin(), or its loader refuses the
// library.
Status lead_to_recorder(pid_t pid, const std::string& library);

}  // namespace tare::core
