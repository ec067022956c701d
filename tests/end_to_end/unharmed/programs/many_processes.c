// Forks 20 children at a time, 10 times; each allocates on two threads for a moment. Prints how many ended as they
// should.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void* work(void* unused) {
  for (int i = 0; i < 2000; i++) {
    char* volatile block = malloc(100 + i % 50);
    block[0] = 1;
    free(block);
  }
  return unused;
}

int main(void) {
  int right = 0;
  for (int round = 0; round < 10; round++) {
    for (int i = 0; i < 20; i++) {
      const pid_t child = fork();
      if (child == 0) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, NULL) == 0) pthread_join(thread, NULL);
        work(NULL);
        usleep(20000);
        _exit(7);
      }
      if (child < 0) return 1;
    }
    int status = 0;
    while (wait(&status) > 0) right += WIFEXITED(status) && WEXITSTATUS(status) == 7;
  }
  printf("%d ended\n", right);
  return 9;
}
