// A child's first event is that of a thread that it starts: the C library has a stack left, and so allocates nothing
// for the thread. Then the thread that forked allocates beside it.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kRounds = 20000 };
static atomic_int has_begun;

static void* leave(void* unused) { return unused; }

static void churn(void) {
  for (int i = 0; i < kRounds; ++i) {
    void* volatile block = malloc(1000 + i % 100);
    free(block);
  }
}

static void* churn_first(void* unused) {
  void* volatile block = malloc(100000);
  free(block);
  atomic_store(&has_begun, 1);
  churn();
  return unused;
}

int main(void) {
  void* volatile block = malloc(10);
  free(block);
  pthread_t thread;
  if (pthread_create(&thread, NULL, leave, NULL) != 0) return 1;
  pthread_join(thread, NULL);
  const pid_t child = fork();
  if (child == 0) {
    if (pthread_create(&thread, NULL, churn_first, NULL) != 0) _exit(1);
    while (!atomic_load(&has_begun)) continue;
    churn();
    pthread_join(thread, NULL);
    exit(6);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : 1;
}
