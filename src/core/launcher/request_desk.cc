// Reading requests, carrying them out, leaving answers: see request_desk.h.
#include "core/launcher/request_desk.h"

#include <time.h>

#include <filesystem>
#include <optional>

#include "core/columns/table_codec.h"
#include "core/launcher/process_recorder.h"
#include "core/launcher/request.h"
#include "core/snapshot/frozen_process.h"
#include "trace/base/clock_ns.h"

namespace tare::core {

using trace::RecorderState;
using trace::RecorderWish;

namespace {

std::string named(pid_t pid) { return "process " + std::to_string(pid); }

std::string in_words(const Result<std::string>& done) { return done ? "ok " + *done : "no " + done.error().message; }

}  // namespace

void RequestDesk::serve() {
  if (directory_.control().requested.exchange(0, std::memory_order_acq_rel) == 0) return;
  for (const auto& [name, text] : directory_.take_requests()) directory_.leave_answer(name, answer(name, text));
}

std::string RequestDesk::answer(const std::string& name, const std::string& text) {
  const Result<Request> request = parse_request(text);
  if (!request) return "no " + request.error().message;
  switch (request->verb) {
    case RequestVerb::Figures:
      return in_words(figures(name, request->whom == Request::Whom::Largest ? 0 : request->pid));
    case RequestVerb::Snapshot: {
      const Status taken = snapshot(request->pid, request->name);
      return taken ? "ok took a snapshot of " + named(request->pid) : "no " + taken.error().message;
    }
    case RequestVerb::Pause:
    case RequestVerb::Resume:
      break;
  }
  const RecorderWish wish = request->verb == RequestVerb::Pause ? RecorderWish::Asleep : RecorderWish::Awake;
  if (request->whom == Request::Whom::All) return "ok " + change_all(wish);
  return in_words(change(request->pid, wish));
}

Status RequestDesk::snapshot(pid_t pid, const std::string& name) {
  ImageRecording* image = find_image_(pid);
  if (image == nullptr) {
    return Error{ErrorKind::CannotRecord, named(pid) + " isn't recorded now: it has ended, or sleeps (tare resume)"};
  }
  return image->take_snapshot(trace::MomentKind::Request, name, facts_);
}

Result<std::string> RequestDesk::figures(const std::string& request, pid_t pid) {
  ImageRecording* image = find_image_(pid);
  if (image == nullptr) {
    return Error{ErrorKind::CannotRecord, (pid == 0 ? "no process is" : named(pid) + " isn't") +
                                              " recorded now: it has ended, or sleeps (tare resume)"};
  }
  const std::uint64_t begin_ns = trace::clock_ns(CLOCK_THREAD_CPUTIME_ID);
  const std::optional<Tables> tables = image->tables_so_far();
  if (!tables) return "trace " + std::filesystem::absolute(image->trace_path()).string();
  const Result<std::string> file = directory_.leave_bytes(request, encode_tables(*tables));
  if (!file) return file.error();
  return "tables " + *file + " " + std::to_string(trace::clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns);
}

// A request may name any process, and anyone who can write into the folder can make one, such as a user that the
// program has switched to.
Result<std::string> RequestDesk::change(pid_t pid, RecorderWish wish) {
  switch (directory_.control_file().in(pid)) {
    case Mapped::Yes:
      break;
    case Mapped::Ended:
      return Error{ErrorKind::CannotRecord, named(pid) + " has ended"};
    case Mapped::No:
    case Mapped::Unreadable:
      return Error{ErrorKind::CannotRecord, named(pid) + " isn't part of this recording"};
  }
  ImageRecording* image = find_image_(pid);
  Result<FrozenProcess> process = FrozenProcess::freeze(pid);
  if (!process) return process.error();
  if (process->thread_count() == 0) return Error{ErrorKind::CannotRecord, named(pid) + " has ended"};
  Result<ProcessRecorder> recorder = ProcessRecorder::find(*process);
  if (!recorder) return recorder.error();
  if (recorder->state() == RecorderState::Off) {
    return Error{ErrorKind::CannotRecord, named(pid) + " can't be recorded: it could make no spool when it began"};
  }
  const bool begun = recorder->state() == RecorderState::Recording;
  if (wish == RecorderWish::Asleep) {
    if (!recorder->is_awake() && recorder->wish() != RecorderWish::Awake) return named(pid) + " sleeps already";
    if (Status paused = recorder->pause(); !paused) return paused.error();
    if (begun && image != nullptr) image->falls_asleep();
    return named(pid) + " is paused";
  }
  if (recorder->is_awake()) return named(pid) + " is recorded already";
  if (Status woken = recorder->wake({}); !woken) return woken.error();
  if (begun && image != nullptr) image->wakes_up();
  return named(pid) + (begun ? " is recorded again" : " is recorded from its next allocation on");
}

std::string RequestDesk::change_all(RecorderWish wish) {
  directory_.control().all_awake.store(wish == RecorderWish::Awake ? 1 : 0, std::memory_order_release);
  std::size_t changed = 0;
  std::string refused;
  for (const pid_t pid : directory_.control_file().processes()) {
    const Result<std::string> done = change(pid, wish);
    if (done) {
      ++changed;
    } else {
      refused += "; " + done.error().message;
    }
  }
  return std::to_string(changed) + (changed == 1 ? " process" : " processes") + refused;
}

}  // namespace tare::core
