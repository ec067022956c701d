// Does in turns what a stopped and resumed thread could get wrong, and checks each result until the file STOP exists:
// waits with a time limit, waits for a signal, computations in floating point, errno and the signal mask.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t alarms;

static void on_alarm(int signal) {
  (void)signal;
  ++alarms;
}

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static void check(int holds, const char* what) {
  if (holds) return;
  printf("wrong: %s, errno %d\n", what, errno);
  exit(1);
}

// Values stay in registers of both kinds meanwhile.
static double compute(void) {
  long double wide = 1;
  double narrow[4] = {1, 2, 3, 4};
  for (int i = 1; i < 60000; ++i) {
    wide += 1.0L / ((long double)i * i);
    for (int k = 0; k < 4; ++k) narrow[k] = narrow[k] * 0.999 + k;
  }
  return (double)wide + narrow[0] + narrow[1] + narrow[2] + narrow[3];
}

static unsigned long spin(void) {
  unsigned long value = 1;
  for (int i = 0; i < 300000; ++i) value = value * 6364136223846793005ul + 1442695040888963407ul;
  return value;
}

int main(int count, char** arguments) {
  if (count < 2) return 2;
  sigset_t blocked, before, waiting;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGALRM);
  sigprocmask(SIG_BLOCK, &blocked, NULL);
  sigprocmask(SIG_BLOCK, NULL, &before);
  waiting = before;
  sigdelset(&waiting, SIGALRM);
  signal(SIGALRM, on_alarm);
  const double computed = compute();
  const unsigned long spun = spin();
  static char* kept[50];
  int rounds = 0;
  while (errno = 0, access(arguments[1], F_OK) != 0) {
    ++rounds;
    for (int i = 0; i < 50; ++i) {
      free(kept[i]);
      kept[i] = malloc(20 + (size_t)(rounds * i) % 3000);
      kept[i][0] = 1;
    }
    const struct timespec pause = {0, 3000000};
    double begin = now_ms();
    check(nanosleep(&pause, NULL) == 0 && now_ms() - begin >= 2.9, "nanosleep");
    begin = now_ms();
    check(poll(NULL, 0, 3) == 0 && now_ms() - begin >= 2.9, "poll");
    const double again = compute();
    check(memcmp(&again, &computed, sizeof again) == 0, "floating point");
    errno = 77;
    check(spin() == spun, "registers");
    check(errno == 77, "errno");
    const struct itimerval timer = {{0, 0}, {0, 3000}};
    const int alarms_before = alarms;
    setitimer(ITIMER_REAL, &timer, NULL);
    check(sigsuspend(&waiting) == -1 && errno == EINTR && alarms == alarms_before + 1, "sigsuspend");
    sigset_t now;  // of which the kernel has 8 bytes
    sigprocmask(SIG_BLOCK, NULL, &now);
    check(memcmp(&now, &before, 8) == 0, "signal mask");
  }
  printf("%s\n", rounds > 3 ? "right" : "few rounds");
  return 0;
}
