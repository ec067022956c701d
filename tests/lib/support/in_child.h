// A body in a forked child, which may take limits upon itself or die.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

namespace tare::testing {

// The child's answer: 0 for good, else the number of what was wrong; from 1,000 on the signal that killed it.
template <class Body>
int in_child(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

}  // namespace tare::testing
