// Its own handlers of SIGBUS, of all forms, for faults of its own and for signals that are sent; what sigaction and
// signal answer; and how it ends by one. The argument selects the way.
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef void (*handler_t)(int);
handler_t __sysv_signal(int, handler_t);

static sigjmp_buf back;
static char* page;
static volatile int calls;

static void print_action(const char* when, const struct sigaction* action, handler_t known) {
  const char* handler = action->sa_handler == SIG_DFL ? "default" : action->sa_handler == SIG_IGN ? "ignored" : "other";
  unsigned long long mask;
  memcpy(&mask, &action->sa_mask, sizeof mask);
  printf("%s: %s, flags %x, mask %llx\n", when, action->sa_handler == known ? "mine" : handler, action->sa_flags, mask);
}

static void on_fault(int signal, siginfo_t* info, void* context) {
  (void)context;
  if (info->si_code <= 0) {  // sent
    ++calls;
    return;
  }
  printf("signal %d, code %d, %s\n", signal, info->si_code, info->si_addr == page ? "my page" : "another address");
  siglongjmp(back, 1);
}

static void on_signal(int signal) {
  free(malloc(100));
  calls += signal == SIGBUS;
}

static void map_a_page_past_the_end(void) {
  char name[] = "/tmp/bus-XXXXXX";
  const int file = mkstemp(name);
  unlink(name);
  page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
}

static void set(handler_t short_form, int flags, struct sigaction* before) {
  struct sigaction action = {0};
  action.sa_flags = flags;
  if ((flags & SA_SIGINFO) != 0)
    action.sa_sigaction = on_fault;
  else
    action.sa_handler = short_form;
  sigaddset(&action.sa_mask, SIGUSR1);
  if (sigaction(SIGBUS, &action, before) != 0) perror("sigaction");
}

int main(int count, char** words) {
  const char* const way = count > 1 ? words[1] : "";
  struct sigaction now = {0};
  setvbuf(stdout, NULL, _IONBF, 0);
  free(malloc(10));
  map_a_page_past_the_end();
  sigaction(SIGBUS, NULL, &now);
  print_action("at the start", &now, on_signal);
  if (strcmp(way, "handlers") == 0) {
    set(NULL, SA_SIGINFO | SA_NODEFER, &now);
    print_action("before", &now, on_signal);
    if (sigsetjmp(back, 1) == 0) *page = 1;
    if (sigsetjmp(back, 1) == 0) *page = 1;
    sigaction(SIGBUS, NULL, &now);
    print_action("long form", &now, (handler_t)on_fault);
    raise(SIGBUS);
    printf("%d calls, signal() answers %s\n", calls,
           signal(SIGBUS, on_signal) == (handler_t)on_fault ? "mine" : "other");
    raise(SIGBUS);
    kill(getpid(), SIGBUS);
    printf("%d calls\n", calls);
    sigaction(SIGBUS, NULL, &now);
    print_action("signal()", &now, on_signal);
    printf("refused: %d\n", signal(SIGBUS, SIG_ERR) == SIG_ERR);
    printf("%s\n", __sysv_signal(SIGBUS, on_signal) == on_signal ? "mine" : "other");
    raise(SIGBUS);
    sigaction(SIGBUS, NULL, &now);
    print_action("once", &now, on_signal);
    signal(SIGBUS, SIG_IGN);
    raise(SIGBUS);
    sigaction(SIGBUS, NULL, &now);
    print_action("ignored", &now, on_signal);
    set(on_signal, SA_RESTART, &now);
    const pid_t child = vfork();
    if (child == 0) {
      signal(SIGBUS, SIG_DFL);
      _exit(0);
    }
    waitpid(child, NULL, 0);
    raise(SIGBUS);
    sigaction(SIGBUS, NULL, &now);
    print_action("after a vfork", &now, on_signal);
    printf("%d calls\n", calls);
    if (fork() == 0) {
      signal(SIGBUS, SIG_DFL);
      raise(SIGBUS);
    }
    int status = 0;
    wait(&status);
    printf("the child: %x\n", status & 0x7f);
    return 0;
  }
  if (strcmp(way, "blocked") == 0) {
    sigset_t set_of_one, pending;
    sigemptyset(&set_of_one);
    sigaddset(&set_of_one, SIGBUS);
    sigprocmask(SIG_BLOCK, &set_of_one, NULL);
    raise(SIGBUS);
    free(malloc(10));
    sigpending(&pending);
    int got = 0;
    sigwait(&set_of_one, &got);
    printf("pending %d, got %d\n", sigismember(&pending, SIGBUS), got);
    return 0;
  }
  if (strcmp(way, "storm") == 0) {  // into the recorder's every step
    signal(SIGBUS, on_signal);
    timer_t timer;
    struct sigevent event = {0};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGBUS;
    const struct itimerspec often = {{0, 50000}, {0, 50000}};
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 || timer_settime(timer, 0, &often, NULL) != 0) return 1;
    for (int i = 0; i < 2000000; ++i) {
      void* volatile block = malloc((size_t)(i % 5000) + 1);
      free(block);
    }
    timer_delete(timer);
    printf("%s\n", calls > 100 ? "many calls" : "few calls");
    return 0;
  }
  if (strcmp(way, "fault") == 0) *page = 1;
  if (strcmp(way, "ignored fault") == 0) {
    signal(SIGBUS, SIG_IGN);
    *page = 1;
  }
  if (strcmp(way, "raise") == 0) raise(SIGBUS);
  if (strcmp(way, "kill") == 0) kill(getpid(), SIGBUS);
  return 0;
}
