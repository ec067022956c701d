// Requests of users to a running recording: tare pause, resume, snapshot and top.
//
// A request is a symbolic link PID.NS.request in the recording's private directory that points to "VERB PID NAME".
// Anyone who can write there can make it. LauncherControl::requested signals a new one. The answer is a link
// PID.NS.answer to "ok TEXT" or "no TEXT", which the asker takes away. Links, for they appear whole or not at all.
//
//   snapshot PID NAME   takes the snapshot NAME of PID
//   pause PID           new blocks of PID aren't recorded from now on; PID `all`: of all processes, and those to come
//   resume PID          they are again; wakes a recorder that slept since its process began
//   figures PID         the tables so far: "ok tables FILE NS", what table_codec.h writes, in that file of the folder,
//   and
//                       the launcher's CPU for it; or "ok trace PATH", where no figures are kept on the way: the trace
//                       with all that was recorded up to now. PID `largest`: of the image with most calls that runs
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "core/drain/image_recording.h"
#include "core/launcher/spool_directory.h"
#include "trace/spool/rendezvous.h"

namespace tare::core {

class RequestDesk {
 public:
  using FindImage = std::function<ImageRecording*(pid_t)>;  // the one that runs, or null; of 0 the one of most calls

  RequestDesk(SpoolDirectory& directory, const SnapshotFacts& facts, FindImage find_image)
      : directory_(directory), facts_(facts), find_image_(std::move(find_image)) {}

  // Answers the requests since the last call. One thread, the one that drains.
  void serve();

 private:
  std::string answer(const std::string& name, const std::string& text);
  Status snapshot(pid_t pid, const std::string& name);
  Result<std::string> figures(const std::string& request, pid_t pid);
  // The result, in words.
  Result<std::string> change(pid_t pid, trace::RecorderWish wish);
  std::string change_all(trace::RecorderWish wish);

  SpoolDirectory& directory_;
  const SnapshotFacts& facts_;
  FindImage find_image_;
};

}  // namespace tare::core
