// Requests that no allocator can serve, each of a size of its own; "abort" as argument: the last one isn't caught.
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

static volatile std::size_t huge = std::size_t{1} << 62;
static int failures = 0;
static int with_errno = 0;

static void note(const void* block) {
  failures += block == nullptr;
  with_errno += block == nullptr && errno == ENOMEM;
  errno = 0;
}

static void request_in_handler(int) { note(std::malloc(huge + 20)); }

int main(int count, char** arguments) {
  note(std::malloc(huge + 1));
  note(std::calloc(1, huge + 2));
  note(std::realloc(nullptr, huge + 3));
  char* const kept = static_cast<char*>(std::malloc(100));
  std::strcpy(kept, "kept");
  note(std::realloc(kept, huge + 4));
  note(reallocarray(kept, 1, huge + 5));
  note(memalign(64, huge + 6));
  note(aligned_alloc(64, huge + 64 * 7));
  void* block = nullptr;
  if (posix_memalign(&block, 256, huge + 8) == ENOMEM) errno = ENOMEM;
  note(block);
  note(valloc(huge + 9));
  note(pvalloc(huge + 10));
  int caught = 0;
  try {
    ::operator delete(::operator new(huge + 11));
  } catch (const std::bad_alloc&) {
    ++caught;
  }
  errno = ENOMEM;  // an operator may leave it
  note(::operator new(huge + 12, std::nothrow));
  note(std::calloc(~huge, 16));
  note(reallocarray(kept, ~huge, 16));
  void* const empty = std::malloc(0);
  std::free(std::realloc(empty, 0));
  signal(SIGUSR1, request_in_handler);
  raise(SIGUSR1);
  const pid_t child = fork();
  if (child == 0) {
    note(std::malloc(huge + 30));
    std::exit(0);
  }
  waitpid(child, nullptr, 0);
  std::printf("failures %d\nerrno %d\ncaught %d\nkept %d\n", failures, with_errno, caught, std::strcmp(kept, "kept"));
  std::free(kept);
  std::fflush(stdout);
  if (count > 1) ::operator delete(::operator new(huge + 40));
  return 0;
}
