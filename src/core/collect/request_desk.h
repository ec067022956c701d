// What users ask of a running recording: tare pause, resume and snapshot.
//
// A request is a symbolic link PID.NS.request in the recording's private directory that points to "VERB PID NAME", made
// by whoever may write there; LauncherControl::requested says that there is one. The answer is a link PID.NS.answer to
// "ok TEXT" or "no TEXT", which the asker takes away. Links, for they appear whole or not at all.
//
//   snapshot PID NAME   looks into the live blocks of PID now, as moment NAME
//   pause PID           new blocks of PID aren't recorded from now on; PID `all`: of all processes, and of those to
//   come resume PID          they are again; wakes a recorder that slept since its process began
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "core/collect/image_recording.h"
#include "core/collect/spool_directory.h"
#include "trace/rendezvous.h"

namespace tare::core {

class RequestDesk {
 public:
  using FindImage = std::function<ImageRecording*(pid_t)>;  // the one that runs, or null

  RequestDesk(SpoolDirectory& directory, MomentFacts facts, FindImage find_image)
      : directory_(directory), facts_(std::move(facts)), find_image_(std::move(find_image)) {}

  // Answers what has been asked since the last call. One thread, the one that drains.
  void serve();

 private:
  std::string answer(const std::string& request);
  Status snapshot(pid_t pid, const std::string& name);
  // What was done, in words.
  Result<std::string> change(pid_t pid, trace::RecorderWish wish);
  std::string change_all(trace::RecorderWish wish);

  SpoolDirectory& directory_;
  MomentFacts facts_;
  FindImage find_image_;
};

}  // namespace tare::core
