// The interposed exec and spawn functions. libc's own call each other past these hooks, so each form has one.
#include <alloca.h>
#include <cstdarg>
#include <cstdint>

#include <spawn.h>

#include "recorder/hooks/hook_names.h"
#include "recorder/hooks/real.h"
#include "recorder/process/exec_target.h"
#include "recorder/recorder.h"

extern "C" char** environ;

namespace tare::recorder {
namespace {

// `call` with the environment that `target` shall have.
template <typename Call>
int start(ExecTarget target, char* const* environment, Call call) {
  const std::uint64_t words = target.prepare(environment);
  if (words != 0) environment = target.environment_in(static_cast<char**>(alloca(words * sizeof(char*))), environment);
  const int result = call(environment);
  if (result != 0) target.take_back();
  return result;
}

// The same in this process. Returns only where nothing was executed.
template <typename Call>
int execute(ExecTarget target, char* const* environment, Call call) {
  const bool told = recorder.begin_exec();
  const int result = start(target, environment, call);
  if (told) recorder.take_back_exec();
  return result;
}

std::uint64_t count_arguments(va_list arguments) {
  std::uint64_t count = 1;  // the first was named
  while (va_arg(arguments, char*) != nullptr) ++count;
  return count;
}

int execute_path(const char* path, char* const* arguments, char* const* environment) {
  return execute(ExecTarget::at_path(path), environment,
                 [&](char* const* changed) { return real.execve(path, arguments, changed); });
}

int execute_file(const char* file, char* const* arguments, char* const* environment) {
  return execute(ExecTarget::in_search_path(file), environment,
                 [&](char* const* changed) { return real.execvpe(file, arguments, changed); });
}

}  // namespace

// The words of a call like execl(path, first, ..., nullptr), in the caller's frame.
#define TARE_COLLECT_ARGUMENTS(first)                                                \
  va_list counted, listed;                                                           \
  va_start(counted, first);                                                          \
  va_copy(listed, counted);                                                          \
  const std::uint64_t count = first == nullptr ? 0 : count_arguments(counted);       \
  char** const arguments = static_cast<char**>(alloca((count + 1) * sizeof(char*))); \
  arguments[0] = const_cast<char*>(first);                                           \
  for (std::uint64_t i = 1; i <= count; ++i) arguments[i] = va_arg(listed, char*)

TARE_HOOK_FUNCTION(int, execve, (const char* path, char* const* arguments, char* const* environment)) {
  return execute_path(path, arguments, environment);
}

TARE_HOOK_FUNCTION(int, execv, (const char* path, char* const* arguments)) {
  return execute_path(path, arguments, environ);
}

TARE_HOOK_FUNCTION(int, execvp, (const char* file, char* const* arguments)) {
  return execute_file(file, arguments, environ);
}

TARE_HOOK_FUNCTION(int, execvpe, (const char* file, char* const* arguments, char* const* environment)) {
  return execute_file(file, arguments, environment);
}

TARE_HOOK_FUNCTION(int, execl, (const char* path, const char* first, ...)) {
  TARE_COLLECT_ARGUMENTS(first);
  const int result = execute_path(path, arguments, environ);
  va_end(listed);
  va_end(counted);
  return result;
}

TARE_HOOK_FUNCTION(int, execlp, (const char* file, const char* first, ...)) {
  TARE_COLLECT_ARGUMENTS(first);
  const int result = execute_file(file, arguments, environ);
  va_end(listed);
  va_end(counted);
  return result;
}

TARE_HOOK_FUNCTION(int, execle, (const char* path, const char* first, ...)) {
  TARE_COLLECT_ARGUMENTS(first);
  char* const* const environment = va_arg(listed, char* const*);
  const int result = execute_path(path, arguments, environment);
  va_end(listed);
  va_end(counted);
  return result;
}

TARE_HOOK_FUNCTION(int, fexecve, (int fd, char* const* arguments, char* const* environment)) {
  return execute(ExecTarget::of_descriptor(fd), environment,
                 [&](char* const* changed) { return real.fexecve(fd, arguments, changed); });
}

TARE_HOOK_FUNCTION(int, posix_spawn,
                   (int* pid, const char* path, const void* actions, const void* attributes, char* const* arguments,
                    char* const* environment)) {
  return start(ExecTarget::at_path(path), environment, [&](char* const* changed) {
    return real.posix_spawn(pid, path, actions, attributes, arguments, changed);
  });
}

TARE_HOOK_FUNCTION(int, posix_spawnp,
                   (int* pid, const char* file, const void* actions, const void* attributes, char* const* arguments,
                    char* const* environment)) {
  return start(ExecTarget::in_search_path(file), environment, [&](char* const* changed) {
    return real.posix_spawnp(pid, file, actions, attributes, arguments, changed);
  });
}

}  // namespace tare::recorder
