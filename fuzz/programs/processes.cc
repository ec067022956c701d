// Children by each way to fork, and other programs.
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "operations.h"
#include "run.h"

extern char** environ;

namespace dangerous {

static void note_end(Run& run, pid_t child) {
  int status = 0;
  pid_t ended = 0;
  while ((ended = waitpid(child, &status, 0)) < 0 && errno == EINTR) continue;
  note(run, ended == child ? static_cast<uint64_t>(status & 0xff7f) : 1u << 20);  // a core file is the system's matter
}

void perform_fork(Run& run, unsigned value) {
  fflush(stdout);
  const pid_t child = fork();
  note(run, child >= 0);
  if (child == 0) {
    run.is_alone = true;
    perform_block(run);
    const int status = static_cast<int>(run.digest % 100);
    switch (value % 5) {
      case 0:
        _exit(status);
      case 1:
        abort();
      case 2:
        raise(SIGKILL);
        break;
      case 3:
        syscall(SYS_exit_group, status);
        break;
      default:
        break;
    }
    exit(status);
  }
  note_end(run, child);
  skip_block(run);
}

// By the system call, which the C library doesn't see: its locks may be another thread's.
static pid_t fork_by_call(unsigned value) {
  switch (value % 4) {
    case 0:
      return static_cast<pid_t>(syscall(SYS_fork));
    case 1:
      return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
    case 2: {
      clone_args arguments = {};
      arguments.exit_signal = SIGCHLD;
      return static_cast<pid_t>(syscall(SYS_clone3, &arguments, sizeof arguments));
    }
    default: {
      long result = SYS_fork;
      __asm__ volatile("syscall" : "+a"(result) : : "rcx", "r11", "memory");
      return static_cast<pid_t>(result);
    }
  }
}

void perform_raw_fork(Run& run, unsigned value) {
  const pid_t child = fork_by_call(value);
  note(run, child >= 0);
  if (child == 0) {
    if (run.is_alone) perform_block(run);
    _exit(run.is_alone ? static_cast<int>(run.digest % 100) : 7);
  }
  note_end(run, child);
  skip_block(run);
}

void start_program(Run& run, unsigned value) {
  const ProcessUse use;
  char name[] = "/bin/true";
  char* arguments[] = {name, nullptr};
  pid_t child = 0;
  if (value % 3 == 0) {
    note(run, static_cast<uint64_t>(posix_spawn(&child, name, nullptr, nullptr, arguments, environ)));
  } else if (value % 3 == 1) {
    child = vfork();
    if (child == 0) {
      execve(name, arguments, environ);
      _exit(126);
    }
  } else {
    note(run, static_cast<uint64_t>(system("exit 9")));
    return;
  }
  note_end(run, child);
}

static bool read_script(Run& run, char (&script)[4096]) {
  const char* const begin = run.at;
  skip_block(run);
  const auto length = static_cast<size_t>(run.at - begin);
  if (length < 2 || length - 2 >= sizeof script) return false;
  memcpy(script, begin + 1, length - 2);
  script[length - 2] = '\0';
  return true;
}

[[noreturn]] static void become_itself(char* script, char** environment) {
  char* arguments[] = {program_path, script, nullptr};
  const int sink = open("/dev/null", O_WRONLY);
  dup2(sink, 1);
  execve(program_path, arguments, environment);
  _exit(126);
}

void exec_itself(Run& run, unsigned value) {
  char script[4096];
  if (!read_script(run, script)) return;
  const pid_t child = fork();
  note(run, child >= 0);
  char* nothing[] = {nullptr};
  if (child == 0) become_itself(script, value % 3 == 0 ? nothing : environ);
  note_end(run, child);
}

void exec_from_vfork(Run& run, unsigned) {
  char script[4096];
  if (!read_script(run, script)) return;
  const ProcessUse use;
  const pid_t child = vfork();
  if (child == 0) become_itself(script, environ);
  note(run, child >= 0);
  note_end(run, child);
}

}  // namespace dangerous
