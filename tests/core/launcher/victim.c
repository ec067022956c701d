// A program to be recorded: victim MODE [NUMBER]. What it allocates is known to the byte.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void* volatile sink;

static void churn(long calls) {
  for (long i = 0; i < calls; ++i) {
    sink = malloc(16 + i % 100);
    free(sink);
  }
}

static void* churn_thread(void* calls) {
  void* kept[64] = {0};
  for (long i = 0; i < (long)calls; ++i) {
    free(kept[i % 64]);
    kept[i % 64] = malloc(1 + i % 3000);
  }
  for (int i = 0; i < 64; ++i) free(kept[i]);
  return NULL;
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  const long number = argc > 2 ? atol(argv[2]) : 1000;
  if (strcmp(mode, "churn") == 0) {
    churn(number);
  } else if (strcmp(mode, "status") == 0) {
    return (int)number;
  } else if (strcmp(mode, "killed") == 0) {
    churn(number);
    kill(getpid(), SIGKILL);
  } else if (strcmp(mode, "threads") == 0) {
    pthread_t threads[4];
    for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, churn_thread, (void*)number);
    for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  } else if (strcmp(mode, "short-threads") == 0) {
    for (long i = 0; i < number; ++i) {
      pthread_t thread;
      pthread_create(&thread, NULL, churn_thread, (void*)20L);
      if (i % 3 == 0) churn(5);
      pthread_join(thread, NULL);
    }
  } else if (strcmp(mode, "fork") == 0) {
    sink = malloc(4321);
    const pid_t child = fork();
    churn(number);
    if (child == 0) _exit(0);
    waitpid(child, NULL, 0);
  } else if (strcmp(mode, "orphans") == 0) {  // children that nobody waits for
    for (long i = 0; i < number; ++i) {
      if (fork() == 0) {
        churn(10);
        _exit(0);
      }
    }
  } else if (strcmp(mode, "fork-exec") == 0) {
    sink = malloc(4321);
    const pid_t child = fork();
    churn(number);
    if (child == 0) _exit(0);
    waitpid(child, NULL, 0);
    usleep(50 * 1000);  // the child's trace is finished before this image gives up its name
    execl(argv[0], argv[0], "churn", "10", (char*)NULL);
  } else if (strcmp(mode, "exec") == 0) {
    sink = malloc(4321);
    execl(argv[0], argv[0], "churn", argc > 2 ? argv[2] : "10", (char*)NULL);
  } else if (strcmp(mode, "sandbox") == 0) {
    static struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_brk, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    const struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
    churn(1);  // malloc's first call asks for random bytes
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
      return 1;
    churn(number);
  } else if (strcmp(mode, "brood") == 0) {  // children that live at the same time, and allocate when all do
    int gate[2];
    if (pipe(gate) != 0) return 1;
    for (long i = 0; i < number; ++i) {
      if (fork() != 0) continue;
      churn(10);
      close(gate[1]);
      char none;
      if (read(gate[0], &none, 1) != 0) return 1;
      churn(2000);
      _exit(0);
    }
    usleep(500 * 1000);
    close(gate[1]);
    while (wait(NULL) > 0) {
    }
  } else if (strcmp(mode, "setuid") == 0) {  // then forks, and execs
    sink = malloc(4321);
    if (setgid(65534) != 0 || setuid(65534) != 0) return 1;
    const pid_t child = fork();
    if (child == 0) {
      churn(number);
      _exit(0);
    }
    waitpid(child, NULL, 0);
    execl(argv[0], argv[0], "churn", argv[2], (char*)NULL);
  } else if (strcmp(mode, "chroot") == 0) {
    sink = malloc(4321);
    if (chroot("/proc/self/fdinfo") != 0) return 1;
    for (long i = 0; i < number; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        churn(10);
        _exit(0);
      }
      waitpid(child, NULL, 0);
    }
  } else if (strcmp(mode, "run") == 0) {
    const pid_t child = fork();
    if (child == 0) {
      execv(argv[2], argv + 2);
      _exit(3);
    }
    waitpid(child, NULL, 0);
  } else if (strcmp(mode, "daemon") == 0) {
    if (fork() == 0) {
      if (fork() == 0) {
        usleep(300 * 1000);
        churn(number);
      }
      _exit(0);
    }
    wait(NULL);
  } else if (strcmp(mode, "steady") == 0) {  // until it's killed; says on stdout how many calls are done
    for (long i = 0;; ++i) {
      churn(number);
      printf("%ld\n", (i + 1) * number);
      fflush(stdout);
    }
  }
  return 0;
}
