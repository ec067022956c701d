// Grows until the kernel kills it: itself, a forked child, or a program without recorder beside it.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr std::size_t kBlockBytes = 64 << 10;
constexpr std::size_t kMostBlocks = 16'000;  // 1 GB: without a limit it ends by itself

void outgrow() {
  std::vector<char*> blocks;
  while (blocks.size() < kMostBlocks) {
    auto* const block = new char[kBlockBytes];
    std::memset(block, 1, kBlockBytes);
    blocks.push_back(block);
  }
  std::_Exit(3);
}

int wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

}  // namespace

// outgrow itself | child | other COMMAND ... (then it kills itself)
int main(int count, char** words) {
  char* const kept = new char[1 << 20];
  std::memset(kept, 2, 1 << 20);
  if (count < 2) return 2;
  if (std::strcmp(words[1], "itself") == 0) outgrow();
  const pid_t child = fork();
  if (child == 0 && std::strcmp(words[1], "child") == 0) outgrow();
  if (child == 0) {
    unsetenv("LD_PRELOAD");
    execv(words[2], words + 2);
    std::_Exit(4);
  }
  const int status = wait_for(child);
  std::printf("%d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  std::fflush(stdout);
  if (std::strcmp(words[1], "other") == 0) {
    sleep(4);  // the launcher has settled that kill
    kill(getpid(), SIGKILL);
  }
  return 0;
}
