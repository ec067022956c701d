// Forks inside a signal handler inside realloc, which copies from a page that can't be read yet: by fork, _Fork, the
// system call's number, clone3's number or an instruction of its own, as which nobody sees it. The children return into
// realloc when the parent has long gone on.
#define _GNU_SOURCE
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kChildren = 16, kBytes = 64 << 10, kPage = 4096 };

static const char* way;
static char* hidden_page;
static int go_on[2];
static volatile int in_child;
static void* volatile kept[64];

static pid_t fork_somehow(void) {
  if (strcmp(way, "clone3") == 0) {
    struct clone_args arguments = {.exit_signal = SIGCHLD};
    return (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
  }
  if (strcmp(way, "instruction") == 0) {
    long result = SYS_fork;
    __asm__ volatile("syscall" : "+a"(result) : : "rcx", "r11", "memory");
    return (pid_t)result;
  }
  if (strcmp(way, "number") == 0) return (pid_t)syscall(SYS_fork);
  return strcmp(way, "_Fork") == 0 ? _Fork() : fork();
}

static void on_fault(int number) {
  (void)number;
  if (mprotect(hidden_page, kPage, PROT_READ | PROT_WRITE) != 0) _exit(3);
  if (fork_somehow() != 0) return;
  void* volatile block = malloc(100);  // nobody sees a fork by an instruction before
  free(block);
  char byte;
  if (read(go_on[0], &byte, 1) != 1) _exit(4);
  in_child = 1;
}

static void churn(int blocks) {
  for (int i = 0; i < blocks; ++i) {
    free(kept[i % 64]);
    kept[i % 64] = malloc(16 + (size_t)i % 500);
  }
}

int main(int count, char** arguments) {
  if (count != 2 || pipe(go_on) != 0) return 2;
  way = arguments[1];
  signal(SIGSEGV, on_fault);
  for (int i = 0; i < kChildren; ++i) {
    char* block = malloc(kBytes);
    void* volatile neighbour = malloc(kBytes);  // so that the block can't grow where it is
    memset(block, 1, kBytes);
    hidden_page = (char*)(((uintptr_t)block + kBytes / 2) & ~(uintptr_t)(kPage - 1));
    if (mprotect(hidden_page, kPage, PROT_NONE) != 0) return 3;
    block = realloc(block, kBytes + kBytes / 2);
    free(block);
    free(neighbour);
    if (in_child) _exit(0);
    churn(10007);
  }
  for (int i = 0; i < kChildren; ++i) {
    if (write(go_on[1], "x", 1) != 1) return 4;
    churn(10007);
  }
  int ended_well = 0;
  for (int status; wait(&status) > 0;) ended_well += status == 0;
  churn(10007);
  printf("%d children ended well\n", ended_well);
  return 0;
}
