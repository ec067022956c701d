// Takes a hundred blocks; a thread that never took one forks, and the child takes ten.
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void* volatile kept[110];

static void take(int first, int end) {
  for (int i = first; i < end; ++i) kept[i] = malloc(1000);
}

static void* fork_one(void* failed) {
  const pid_t child = fork();
  if (child == 0) {
    take(100, 110);
    exit(0);
  }
  int status = 1;
  return waitpid(child, &status, 0) == child && status == 0 ? NULL : failed;
}

int main(void) {
  take(0, 100);
  pthread_t thread;
  if (pthread_create(&thread, NULL, fork_one, (void*)kept) != 0) return 1;
  void* failed;
  pthread_join(thread, &failed);
  return failed != NULL;
}
