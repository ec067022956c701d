// Makes blocks, then requests more than its address space (ulimit -v) has. Argument 1: "abort" leaves bad_alloc
// uncaught, "exit" ends with status 3, "kill" by SIGKILL, "fork" fails in a child.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

static std::vector<std::unique_ptr<char[]>> blocks;
static volatile int tables = 3;  // an unrolled loop would have three stacks

__attribute__((noinline)) void keep_lines() {
  for (int i = 0; i < 4000; ++i) blocks.push_back(std::make_unique<char[]>(5000));
}

__attribute__((noinline)) void build_index() { blocks.emplace_back(new char[std::size_t{8} << 30]); }

__attribute__((noinline)) void* load_table() { return std::malloc(std::size_t{9} << 30); }

int main(int, char** arguments) {
  const std::string how = arguments[1];
  keep_lines();
  if (how == "fork") {
    const pid_t child = fork();
    if (child == 0) _exit(load_table() == nullptr ? 4 : 0);
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
  }
  for (int i = 0; i < tables; ++i) std::free(load_table());
  if (how == "abort") build_index();
  if (how == "kill") kill(getpid(), SIGKILL);
  return 3;
}
