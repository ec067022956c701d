// Checks before anything is started, then one Launch: see launcher.h.
#include "core/launcher/launcher.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/launcher/executable_check.h"
#include "core/launcher/launch.h"
#include "core/launcher/spool_directory.h"

namespace tare::core {

namespace {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// So that a read-only place shows before the program runs, and not after an hour.
Status check_output(const std::string& output) {
  const std::string folder = output.empty() ? "." : folder_of(output);
  struct stat status;
  const bool exists = !output.empty() && ::stat(output.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) {
    return Error{ErrorKind::Io, "cannot write the trace " + output + ": it is a directory; name a file in it with -o"};
  }
  if (::access(exists ? output.c_str() : folder.c_str(), exists ? W_OK : W_OK | X_OK) == 0) return ok();
  return Error{ErrorKind::Io, "cannot write the trace " + (output.empty() ? "into the working directory" : output) +
                                  ": " + std::strerror(errno) + "; choose a writable place with -o"};
}

}  // namespace

Result<std::string> check_recordable(const std::vector<std::string>& command) {
  if (command.empty()) return Error{ErrorKind::Usage, "no command to run; write: tare run -- COMMAND ARGUMENTS"};
  const Result<Executable> executable = find_executable(command.front());
  if (!executable) return executable.error();
  return executable->path;
}

Result<LaunchOutcome> launch(const LaunchOptions& options, const ProgressCallback& progress) {
  if (options.command.empty()) return check_recordable(options.command).error();
  const Result<Executable> executable = find_executable(options.command.front());
  if (!executable) return executable.error();
  if (::access(options.recorder_library.c_str(), R_OK) != 0) {
    return Error{ErrorKind::CannotRecord,
                 "the recorder " + options.recorder_library + " is missing; install tare again"};
  }
  // ld.so splits LD_PRELOAD at blanks and colons, and has no escape for them.
  if (options.recorder_library.find_first_of(" :") != std::string::npos) {
    return Error{ErrorKind::CannotRecord,
                 "the recorder's path '" + options.recorder_library +
                     "' has a blank or a colon in it, which LD_PRELOAD can't hold; install tare elsewhere"};
  }
  if (Status status = check_output(options.output); !status) return status.error();
  Result<SpoolDirectory> directory = SpoolDirectory::create(folder_of(options.output.empty() ? "./" : options.output));
  if (!directory) return directory.error();
  Launch launch(options, progress, std::move(*directory));
  if (Status status = launch.start(*executable); !status) return status.error();
  launch.run();
  return launch.finish();
}

Result<LaunchOutcome> attach(const AttachOptions& options, const ProgressCallback& progress) {
  if (::kill(options.pid, 0) != 0 && errno == ESRCH) {
    return Error{ErrorKind::CannotRecord, "there is no process " + std::to_string(options.pid)};
  }
  const std::string& output = options.launch.output;
  if (Status status = check_output(output); !status) return status.error();
  Result<SpoolDirectory> directory = SpoolDirectory::create_for(options.pid, folder_of(output.empty() ? "./" : output));
  if (!directory) return directory.error();
  Launch launch(options.launch, progress, std::move(*directory));
  if (Status status = launch.join(options); !status) return status.error();
  launch.run();
  return launch.finish();
}

}  // namespace tare::core
