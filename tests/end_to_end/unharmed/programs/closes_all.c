// Closes every descriptor, those of others too, and goes on: blocks, threads, a child. Its status is all that is seen.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void* work(void* unused) {
  for (int i = 0; i < 20000; i++) free(malloc(100 + i % 100));
  return unused;
}

int main(void) {
  work(NULL);
  if (syscall(SYS_close_range, 0, ~0u, 0) != 0) {
    for (int i = 0; i < 4096; i++) close(i);
  }
  pthread_t thread;
  pthread_create(&thread, NULL, work, NULL);
  work(NULL);
  pthread_join(thread, NULL);
  const pid_t child = fork();
  if (child == 0) {
    work(NULL);
    return 5;
  }
  int status = 0;
  waitpid(child, &status, 0);
  return 3 + WEXITSTATUS(status);
}
