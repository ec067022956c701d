// starts FORM PROGRAM: becomes the program, or starts it, by that function; its arguments are "a" and "b".
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

int main(int count, char** arguments) {
  if (count < 3) return 2;
  const char* form = arguments[1];
  char* program = arguments[2];
  char* words[] = {program, "a", "b", NULL};
  free(malloc(100));
  pid_t child = 0;
  if (strcmp(form, "execve") == 0) {
    execve(program, words, environ);
  } else if (strcmp(form, "execv") == 0) {
    execv(program, words);
  } else if (strcmp(form, "execvp") == 0) {
    execvp(program, words);
  } else if (strcmp(form, "execvpe") == 0) {
    execvpe(program, words, environ);
  } else if (strcmp(form, "fexecve") == 0) {
    fexecve(open(program, O_RDONLY), words, environ);
  } else if (strcmp(form, "execl") == 0) {
    execl(program, program, "a", "b", (char*)NULL);
  } else if (strcmp(form, "execlp") == 0) {
    execlp(program, program, "a", "b", (char*)NULL);
  } else if (strcmp(form, "execle") == 0) {
    execle(program, program, "a", "b", (char*)NULL, environ);
  } else if (strcmp(form, "vfork") == 0) {
    child = vfork();
    if (child == 0) {
      execv(program, words);
      _exit(3);
    }
  } else if (strcmp(form, "posix_spawn") == 0) {
    if (posix_spawn(&child, program, NULL, NULL, words, environ) != 0) return 3;
  } else if (strcmp(form, "posix_spawnp") == 0) {
    if (posix_spawnp(&child, program, NULL, NULL, words, environ) != 0) return 3;
  }
  if (child == 0) return 3;
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 4;
}
