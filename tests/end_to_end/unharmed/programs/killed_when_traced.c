// Threads that allocate all the time, and a child that kills the process as soon as a tracer has stopped it.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void* allocate(void* unused) {
  (void)unused;
  void* block = NULL;
  for (size_t bytes = 1;; bytes = bytes * 7 % 60000 + 1) {
    block = realloc(block, bytes);
    memset(block, 1, bytes);
  }
  return NULL;
}

static void watch(pid_t parent) {
  char path[64];
  char text[256];
  snprintf(path, sizeof path, "/proc/%d/stat", parent);
  while (getppid() == parent) {
    const int file = open(path, O_RDONLY);
    if (file < 0) break;
    const ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0) break;
    text[length] = 0;
    const char* const end = strrchr(text, ')');
    if (end != NULL && end[2] == 't') kill(parent, SIGKILL);
  }
  _exit(0);
}

int main(void) {
  const pid_t self = getpid();
  if (fork() == 0) watch(self);
  for (int i = 0; i < 4; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, allocate, NULL) != 0) return 1;
  }
  usleep(20000);
  _exit(0);
}
