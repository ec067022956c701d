// A profiler's signal every 200 us of processor time, whose handler allocates nothing, over threads that allocate, load
// a library and start programs.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t ticks;
static void on_tick(int number) { ticks = ticks + 1; }

static void* work(void* result) {
  long* sum = result;
  for (int i = 0; i < 100000; i++) {
    char* text = malloc(20 + i % 300);
    text[0] = (char)i;
    *sum += text[0];
    free(text);
  }
  return NULL;
}

int main(void) {
  struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
  sigaction(SIGPROF, &action, NULL);
  const struct itimerval each = {{0, 200}, {0, 200}};
  setitimer(ITIMER_PROF, &each, NULL);
  pthread_t threads[4];
  long sums[4] = {0};
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, &sums[i]);
  int ended = 0;
  for (int i = 0; i < 5; i++) {
    void* library = dlopen("libm.so.6", RTLD_NOW);
    if (library != NULL) dlclose(library);
    const pid_t child = fork();
    if (child == 0) _exit(i);
    int status = 0;
    while (waitpid(child, &status, 0) < 0) continue;
    ended += WEXITSTATUS(status);
  }
  long sum = 0;
  for (int i = 0; i < 4; i++) {
    pthread_join(threads[i], NULL);
    sum += sums[i];
  }
  printf("%ld %d\n", sum, ended);
  return 0;
}
