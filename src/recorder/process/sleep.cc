// A recorder that sleeps since its process began, until a recording is requested; and the work of a paused one.
#include <cstring>

#include <sys/prctl.h>

#include "recorder/base/stamp.h"
#include "recorder/base/syscall.h"
#include "recorder/base/text.h"
#include "recorder/events/contents.h"
#include "recorder/hooks/passing.h"
#include "recorder/recorder.h"
#include "recorder/unwind/definitions.h"

namespace tare::recorder {

// Not all zeros, so that it lies in the library's file-backed data, where a launcher looks for it.
constinit trace::Rendezvous rendezvous{
    {'T', 'A', 'R', 'E', '-', 'R', 'E', 'N', 'D', 'E', 'Z', 'V', 'O', 'U', 'S', '\n'},
    trace::kRendezvousVersion,
    sizeof(trace::Rendezvous),
    {},
    {},
    0,
    0,
    0,
    0,
    {},
    0,
    0,
    0,
    0};

bool Recorder::wants_to_sleep() {
  if (was_loaded_late()) {
    launched_ = false;  // the environment was another recorder's
    return true;
  }
  if (!start_paused_) return false;
  if (launched_) launcher_.connect(directory_);
  return !launcher_.all_awake();
}

void Recorder::fall_asleep() {
  asleep_since_ns_ = first_asleep_ns_ = monotonic_ns();
  make_exit_key();  // while the program has few keys of its own
  // An attaching launcher is no ancestor of this process, and with the kernel's Yama only ancestors may trace it. After
  // this call, any process of the same user may trace this one, as on other kernels.
  if (!launched_ && !was_loaded_late()) sys::call(SYS_prctl, PR_SET_PTRACER, static_cast<long>(PR_SET_PTRACER_ANY));
  rendezvous.state.store(trace::RecorderState::Asleep, std::memory_order_release);
  phase_.store(Phase::Asleep, std::memory_order_release);
  if (&tare_choose_hooks != nullptr) tare_choose_hooks(Hooks::Sleeping);
}

void Recorder::wake_up() {
  if (sleeps()) return;
  Phase asleep = Phase::Asleep;
  if (!phase_.compare_exchange_strong(asleep, Phase::Starting, std::memory_order_acq_rel)) return;
  const sys::SignalsBlocked blocked;
  take_orders();
  slept_ = true;
  if (make_spool(nullptr)) return;
  // The attaching launcher is already gone: the next one may have it.
  const bool may_sleep_on = orders_taken_ != 0 && launcher_.life() != LauncherLife::Alive;
  if (may_sleep_on) rendezvous.wish.store(trace::RecorderWish::None, std::memory_order_release);
  contents_.store(false, std::memory_order_relaxed);
  phase_.store(may_sleep_on ? Phase::Asleep : Phase::Off, std::memory_order_release);
}

}  // namespace tare::recorder
