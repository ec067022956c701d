// A parent and a forked child, each with threads and a heap that grows for a moment. Prints what each has done.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void* work(void* unused) {
  char* kept[200];
  for (int i = 0; i < 200; i++) {
    kept[i] = malloc(20000);
    memset(kept[i], i, 20000);
    usleep(500);
  }
  for (int i = 0; i < 200; i++) free(kept[i]);
  return unused;
}

static void work_twice(const char* who) {
  pthread_t thread;
  pthread_create(&thread, NULL, work, NULL);
  work(NULL);
  pthread_join(thread, NULL);
  printf("%s done\n", who);
  fflush(stdout);
}

int main(void) {
  const pid_t child = fork();
  if (child == 0) {
    work_twice("child");
    return 3;
  }
  work_twice("parent");
  int status = 0;
  waitpid(child, &status, 0);
  printf("child ended with %d\n", WEXITSTATUS(status));
  return 4;
}
