// Cuts the files short that its recorder has mapped: names of /proc/self/maps that contain the first argument, to as
// many bytes as the second says. Natively there are none. Then it goes on as before, on this thread, on a new one, and
// in a child.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void cut(const char* part, long bytes) {
  char maps[1 << 16];
  size_t length = 0;
  const int file = open("/proc/self/maps", O_RDONLY);
  for (ssize_t got; (got = read(file, maps + length, sizeof maps - 1 - length)) > 0;) length += (size_t)got;
  close(file);
  maps[length] = 0;
  for (char* line = strtok(maps, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    const char* path = strchr(line, '/');
    if (path != NULL && strstr(path, part) != NULL && truncate(path, bytes) != 0) _exit(1);
  }
}

static void allocate(void) {
  void* volatile block = malloc(100);
  for (int i = 0; i < 200000; ++i) {
    free(block);
    block = malloc(100);
  }
  free(block);
}

static void* allocate_on_thread(void* unused) {
  allocate();
  return unused;
}

static void* wait_and_allocate(void* pipe_end) {
  char byte;
  allocate();
  if (read(*(int*)pipe_end, &byte, 1) != 1) _exit(2);
  allocate();
  return NULL;
}

int main(int count, char** words) {
  int ends[2];
  pthread_t waiting, later;
  if (pipe(ends) != 0 || pthread_create(&waiting, NULL, wait_and_allocate, &ends[0]) != 0) return 1;
  allocate();
  usleep(200000);  // the launcher has looked
  cut(words[1], count > 2 ? atol(words[2]) : 0);
  if (count > 3) {  // a new thread makes the first event
    if (pthread_create(&later, NULL, allocate_on_thread, NULL) != 0 || pthread_join(later, NULL) != 0) return 1;
  }
  allocate();
  if (write(ends[1], "x", 1) != 1 || pthread_join(waiting, NULL) != 0) return 1;
  const pid_t child = fork();
  if (child == 0) {
    allocate();
    _exit(4);
  }
  int status;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 4) return 5;
  usleep(600000);  // the launcher looks again
  _exit(3);
}
