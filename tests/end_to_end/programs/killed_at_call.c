// Preloaded into `tare`: kills it after the Nth call of ptrace with a request. TARE_KILL_AT is "REQUEST:N", both
// numbers; request -1 counts all calls.
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

long ptrace(int request, ...) {
  static long count;
  va_list list;
  va_start(list, request);
  const long pid = va_arg(list, int);
  void* const address = va_arg(list, void*);
  void* const data = va_arg(list, void*);
  va_end(list);
  const long result = syscall(SYS_ptrace, (long)request, pid, address, data);
  const int error = errno;
  const char* const order = getenv("TARE_KILL_AT");
  int wanted = 0;
  long number = 0;
  if (order != NULL && sscanf(order, "%d:%ld", &wanted, &number) == 2 && (wanted == -1 || wanted == request) &&
      ++count == number)
    kill(getpid(), SIGKILL);
  errno = error;
  return result;
}
