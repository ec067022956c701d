// rusage-of OUT CMD...: runs CMD, waits for every process it leaves behind, and writes their cost to OUT, as JSON.
//
// As a subreaper it also adopts processes whose parents ended first (a profiler's background compressor), so that no
// CPU time is missed. A small C++ program and not the harness itself, because ru_maxrss of a child starts at its
// parent's size. Put between `tare run` and the program, it accounts the program alone: it runs it as its only child.
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

double monotonic_seconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

int fail(const char* what) {
  std::fprintf(stderr, "rusage-of: %s: %s\n", what, std::strerror(errno));
  return 125;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: rusage-of OUT CMD...\n");
    return 125;
  }
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return fail("prctl");
  const double start = monotonic_seconds();
  const pid_t program = fork();
  if (program < 0) return fail("fork");
  if (program == 0) {
    execvp(argv[2], argv + 2);
    std::exit(fail(argv[2]));
  }

  // wait4 gives a child's usage together with that of the children it waited for itself
  double user_seconds = 0;
  double system_seconds = 0;
  long max_rss_kib = 0;
  long faults = 0;
  int program_status = 0;
  int processes = 0;
  for (;;) {
    int status;
    rusage usage;
    const pid_t ended = wait4(-1, &status, 0, &usage);
    if (ended < 0 && errno == EINTR) continue;
    if (ended < 0) break;
    user_seconds += seconds(usage.ru_utime);
    system_seconds += seconds(usage.ru_stime);
    max_rss_kib = std::max(max_rss_kib, usage.ru_maxrss);
    faults += usage.ru_minflt + usage.ru_majflt;
    processes += 1;
    if (ended == program) program_status = status;
  }
  const double wall_seconds = monotonic_seconds() - start;

  std::FILE* out = std::fopen(argv[1], "w");
  if (out == nullptr) return fail(argv[1]);
  std::fprintf(out,
               "{\"wait_status\": %d, \"user_seconds\": %.6f, \"system_seconds\": %.6f, \"wall_seconds\": %.6f, "
               "\"max_rss_bytes\": %ld, \"page_faults\": %ld, \"waited_for\": %d}\n",
               program_status, user_seconds, system_seconds, wall_seconds, max_rss_kib * 1024, faults, processes);
  if (std::fclose(out) != 0) return fail(argv[1]);
  return WIFEXITED(program_status) ? WEXITSTATUS(program_status) : 128 + WTERMSIG(program_status);
}
