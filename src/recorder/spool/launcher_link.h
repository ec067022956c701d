// The recorder's side of its connection to the launcher: the control file, waking the launcher, and checking that it
// lives.
#pragma once

#include <atomic>
#include <cstdint>

#include "recorder/spool/shared_page.h"
#include "trace/spool/spool_layout.h"

namespace tare::recorder {

enum class LauncherLife : std::uint8_t {
  Alive,
  Dead,
  Unknown,  // its control file can't be reached (chroot, no descriptors left, folder gone)
};

class LauncherLink {
 public:
  // Maps DIRECTORY/control. Without one (or a foreign one) the link is unconnected: wake() does nothing, life() is
  // Unknown. The earlier control file stays mapped until the next connection: a late thread may still read it. Returns
  // life().
  LauncherLife connect(const char* directory);
  bool connected() const { return control_ != nullptr; }
  const trace::LauncherControl* control() const { return control_; }  // null: unconnected

  // After a chunk filled up: wakes the launcher if it sleeps and enough has gathered.
  void chunk_filled(std::uint32_t full_chunks) {
    if (control_ == nullptr) return;
    if (control_->sleeping.load(std::memory_order_relaxed) == 0) return;
    if (full_chunks >= control_->wake_chunks.load(std::memory_order_relaxed)) wake();
  }
  // There's no room left, or the program waits for an answer.
  void wake();
  // A spool appeared or ended. A shell's children come and go by the hundred, and each wake costs both sides 20 us: the
  // launcher finds a few by the clock and is woken for many.
  void process_changed() {
    if (control_ == nullptr) return;
    const std::uint32_t changed = control_->changed_processes.fetch_add(1, std::memory_order_acq_rel) + 1;
    if (changed >= control_->wake_processes.load(std::memory_order_relaxed)) wake();
  }
  // False: the control file was cut short, and the launcher can't be woken any more.
  bool keep() { return control_ == nullptr || keep_shared_page(control_); }
  // If the control page is at this address, whose access raised SIGBUS: the same. False: it's another page.
  bool replace_page(std::uint64_t address);
  // This process isn't recorded, and can't write the reason (chroot). False: not connected.
  bool count_unrecorded();
  LauncherLife life() const;
  // It was there and has ended: its control file is the first that it deletes.
  bool has_ended() const;
  bool wants_exit_moments() const {
    return control_ != nullptr && control_->exit_moments.load(std::memory_order_relaxed) != 0;
  }
  bool all_awake() const { return control_ != nullptr && control_->all_awake.load(std::memory_order_relaxed) != 0; }
  bool is_disk_full() const {
    return control_ != nullptr && control_->disk_is_full.load(std::memory_order_relaxed) != 0;
  }
  bool is_stopped() const;  // by a signal or a debugger

 private:
  char state() const;  // as in /proc/PID/stat; 0: unknown
  trace::LauncherControl* control_ = nullptr;
  trace::LauncherControl* before_ = nullptr;
  char path_[4352] = {};
};

}  // namespace tare::recorder
