// Locks its memory, then allocates in the main thread and in another. Arguments: the flags of mlockall, and "user" to
// be one that may lock 8 MiB. The last line says how many kB are resident and locked.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static void* volatile kept[100];

static void* allocate(void* unused) {
  for (int i = 0; i < 100; ++i) kept[i] = malloc(1000);
  return unused;
}

static long status_kb(const char* key) {
  FILE* const file = fopen("/proc/self/status", "r");
  char line[256];
  long value = -1;
  while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
    if (strncmp(line, key, strlen(key)) == 0) value = atol(line + strlen(key) + 1);
  }
  if (file != NULL) fclose(file);
  return value;
}

int main(int count, char** arguments) {
  if (count < 2) return 2;
  allocate(NULL);
  if (count > 2) {
    const struct rlimit limit = {8 << 20, 8 << 20};
    if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0 || setresuid(65534, 65534, 65534) != 0) return 3;
  }
  const int result = mlockall(atoi(arguments[1]));
  printf("%d %s\n", result, result == 0 ? "" : strerror(errno));
  allocate(NULL);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 << 10);
  pthread_t thread;
  printf("%d\n", pthread_create(&thread, &attributes, allocate, NULL));
  pthread_join(thread, NULL);
  printf("%ld %ld\n", status_kb("VmRSS"), status_kb("VmLck"));
  return 0;
}
