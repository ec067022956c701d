// tare-measure FD COMMAND [ARG...]: runs the command without input or output, waits, and writes one line to FD:
//   STATUS USER_US SYSTEM_US WALL_NS MAXRSS_KIB MINOR_FAULTS MAJOR_FAULTS     (STATUS as wait4 gives it)
//   E ERRNO                                                                  (it couldn't be started)
//
// A program of its own, because a process's peak RSS begins with that of its parent at the start: children of Python
// never have a peak below Python's 12 MiB, and children of this program begin at about 0.1 MiB.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (long long)now.tv_sec * 1000000000 + now.tv_nsec;
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: tare-measure FD COMMAND [ARG...]\n");
    return 125;
  }
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // if its parent has died, the command's result isn't needed
  const int report = atoi(argv[1]);
  fcntl(report, F_SETFD, FD_CLOEXEC);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  int failed[2];  // the child's errno, if exec fails; closed by exec
  if (null < 0 || pipe2(failed, O_CLOEXEC) != 0) {
    dprintf(report, "E %d\n", errno);
    return 1;
  }
  const long long start = now_ns();
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    for (int fd = 0; fd < 3; ++fd) dup2(null, fd);
    execvp(argv[2], argv + 2);
    const int error = errno;
    if (write(failed[1], &error, sizeof error) < 0) _exit(126);
    _exit(127);
  }
  int error = child < 0 ? errno : 0;
  close(failed[1]);
  if (child < 0 || read(failed[0], &error, sizeof error) > 0) {
    dprintf(report, "E %d\n", error);
    return 1;
  }
  int status = 0;
  struct rusage used;
  while (wait4(child, &status, 0, &used) < 0 && errno == EINTR) {
  }
  const long long wall = now_ns() - start;
  dprintf(report, "%d %lld %lld %lld %ld %ld %ld\n", status, used.ru_utime.tv_sec * 1000000ll + used.ru_utime.tv_usec,
          used.ru_stime.tv_sec * 1000000ll + used.ru_stime.tv_usec, wall, used.ru_maxrss, used.ru_minflt,
          used.ru_majflt);
  return 0;
}
