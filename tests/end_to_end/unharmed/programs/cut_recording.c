// Cuts the files short that its recorder has mapped: names of /proc/self/maps that contain the first argument, to as
// many bytes as the second says. Natively there are none.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

int main(int count, char** words) {
  void* volatile block = malloc(100);
  for (int i = 0; i < 200000; ++i) {
    free(block);
    block = malloc(100);
  }
  usleep(200000);  // the launcher has looked
  cut(words[1], count > 2 ? atol(words[2]) : 0);
  usleep(600000);  // and looks again
  _exit(3);
}
