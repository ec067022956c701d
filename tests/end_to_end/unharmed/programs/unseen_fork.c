// One thread takes a block; the main thread then takes a hundred; the first thread forks by an instruction, past the C
// library, and the child takes ten.
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void* volatile kept[111];
static pthread_barrier_t turn;

static void take(int first, int end, size_t bytes) {
  for (int i = first; i < end; ++i) kept[i] = malloc(bytes);
}

static long fork_by_instruction(void) {
  long child;
  __asm__ volatile("syscall" : "=a"(child) : "0"((long)SYS_fork) : "rcx", "r11", "memory");
  return child;
}

static void* fork_one(void* failed) {
  take(110, 111, 500);
  pthread_barrier_wait(&turn);
  pthread_barrier_wait(&turn);
  const pid_t child = (pid_t)fork_by_instruction();
  if (child == 0) {
    take(100, 110, 1000);
    _exit(0);
  }
  int status = 1;
  return waitpid(child, &status, 0) == child && status == 0 ? NULL : failed;
}

int main(void) {
  pthread_t thread;
  pthread_barrier_init(&turn, NULL, 2);
  if (pthread_create(&thread, NULL, fork_one, (void*)kept) != 0) return 1;
  pthread_barrier_wait(&turn);
  take(0, 100, 1000);
  pthread_barrier_wait(&turn);
  void* failed;
  pthread_join(thread, &failed);
  return failed != NULL;
}
