// Starts the command: see child_process.h.
#include "core/launcher/child_process.h"

#include <signal.h>
#include <spawn.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "trace/base/guarded_mapping.h"
#include "trace/spool/spool_layout.h"

extern char** environ;

namespace tare::core {

namespace {

constexpr std::string_view kPreload = "LD_PRELOAD=";

bool is_ours(std::string_view entry) {
  for (const char* name : {trace::kEnvSpoolDir, trace::kEnvSpoolBytes, trace::kEnvSampleBytes, trace::kEnvSampleSeed,
                           trace::kEnvRecordEnv, trace::kEnvFreeStacks, trace::kEnvContents}) {
    const std::string_view prefix(name);
    if (entry.size() > prefix.size() && entry.substr(0, prefix.size()) == prefix && entry[prefix.size()] == '=')
      return true;
  }
  return false;
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> result;
  for (const std::string& word : words) result.push_back(const_cast<char*>(word.c_str()));
  result.push_back(nullptr);
  return result;
}

}  // namespace

std::vector<std::string> recorded_environment(const std::string& library, const Variables& variables) {
  std::vector<std::string> environment;
  std::string preload = std::string(kPreload) + library;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (is_ours(text)) continue;
    if (text.substr(0, kPreload.size()) == kPreload) {
      if (text.size() > kPreload.size()) preload += ":" + std::string(text.substr(kPreload.size()));
      continue;
    }
    environment.emplace_back(text);
  }
  environment.push_back(preload);
  for (const auto& [name, value] : variables) environment.push_back(name + "=" + value);
  return environment;
}

Result<pid_t> start_process(const Executable& executable, const std::vector<std::string>& command,
                            const std::vector<std::string>& environment) {
  std::vector<std::string> words = command;
  if (!executable.before_args.empty()) {
    words.erase(words.begin());
    words.insert(words.begin(), executable.before_args.begin(), executable.before_args.end());
  }
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  // The front end's interpreter ignores SIGPIPE and SIGXFSZ; ignored signals would survive the exec.
  sigset_t defaults, mask;
  ::sigemptyset(&defaults);
  ::sigaddset(&defaults, SIGPIPE);
  ::sigaddset(&defaults, SIGXFSZ);
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawnattr_setsigmask(&attributes, &mask);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  pid_t pid = 0;
  // At the exec, the launcher's handler becomes the default action. A signal that was ignored before the handler was
  // installed must be ignored again.
  struct sigaction own = {};
  struct sigaction ignored = {};
  ignored.sa_handler = SIG_IGN;
  const bool hides_ignored = trace::sigbus_was_ignored();
  if (hides_ignored) ::sigaction(SIGBUS, &ignored, &own);
  const int error = ::posix_spawn(&pid, executable.path.c_str(), nullptr, &attributes, pointers(words).data(),
                                  pointers(environment).data());
  if (hides_ignored) ::sigaction(SIGBUS, &own, nullptr);
  ::posix_spawnattr_destroy(&attributes);
  if (error == 0) return pid;
  if (error == ENOENT) {
    return Error{ErrorKind::CommandNotFound,
                 executable.path + ": its loader or interpreter doesn't exist; reinstall it"};
  }
  return Error{ErrorKind::CannotRecord,
               "cannot start " + executable.path + ": " + std::strerror(error) + "; try it without tare"};
}

}  // namespace tare::core
