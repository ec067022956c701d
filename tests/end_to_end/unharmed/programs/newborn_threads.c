// Takes and gives back blocks without a pause; now and then a thread comes on another processor, takes a block at once
// and goes.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

static void* take_one(void* unused) {
  void* volatile block = malloc(50);
  free(block);
  return unused;
}

// The first processor in `allowed` is taken out of it.
static cpu_set_t take_processor(cpu_set_t* allowed) {
  cpu_set_t taken;
  CPU_ZERO(&taken);
  for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&taken) == 0; ++i) {
    if (CPU_ISSET(i, allowed)) CPU_SET(i, &taken);
  }
  CPU_XOR(allowed, allowed, &taken);
  return taken;
}

int main(void) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0 && CPU_COUNT(&allowed) > 1) {
    const cpu_set_t own = take_processor(&allowed);
    pthread_attr_setaffinity_np(&attributes, sizeof(allowed), &allowed);
    sched_setaffinity(0, sizeof(own), &own);
  }
  for (int i = 0; i < 1000; ++i) {
    for (int j = 0; j < 5000; ++j) {
      void* volatile block = malloc(100);
      free(block);
    }
    pthread_t one;
    if (pthread_create(&one, &attributes, take_one, NULL) != 0) return 1;
  }
  return 0;
}
