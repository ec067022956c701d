// Threads coming and going; keys with destructors that free and allocate. Argument 1: how many, argument 2: at once.
// Argument 3: "destructor" for threads that only free in a key's destructor, "exit" for such as end by the system call,
// "wait" for such as allocate once and wait until all have; then it says what memory the spool takes.
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

static pthread_key_t key;
static pthread_key_t plain_key;
static int rounds_left(void* value) { return *static_cast<int*>(value); }

static void destroy(void* value) {
  const int left = rounds_left(value);
  std::free(value);
  if (left == 0) return;
  int* next = static_cast<int*>(std::malloc(sizeof(int)));
  *next = left - 1;
  pthread_setspecific(key, next);
}

static void work() {
  int* value = static_cast<int*>(std::malloc(sizeof(int)));
  *value = 3;
  pthread_setspecific(key, value);
  for (int i = 0; i < 20; ++i) std::free(std::malloc(100));
}

static void* free_in_destructor(void* block) {
  pthread_setspecific(plain_key, block);
  return nullptr;
}

static void* end_by_system_call(void* block) {
  std::free(block);
  syscall(SYS_exit, 0);
  return nullptr;
}

static long spool_kib() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t path = line.find('/');
    struct stat status;
    if (!line.ends_with(".spool") || stat(line.c_str() + path, &status) != 0) continue;
    return static_cast<long>(status.st_blocks) / 2;
  }
  return 0;
}

static void wait_for_all(int total) {
  std::barrier all(total + 1);
  std::vector<std::thread> threads;
  for (int i = 0; i < total; ++i) {
    threads.emplace_back([&] {
      std::free(std::malloc(100));
      all.arrive_and_wait();
      all.arrive_and_wait();
    });
  }
  all.arrive_and_wait();
  std::printf("spool_kib %ld\n", spool_kib());
  all.arrive_and_wait();
  for (std::thread& thread : threads) thread.join();
}

// The kernel wakes pthread_join() before the thread is gone: on a busy machine, the thread may have to wait for a
// processor once more until then.
static void wait_until_alone() {
  const auto tasks = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
  };
  while (tasks() > 1) usleep(1000);
}

static int other_ways(int total, const std::string& way) {
  if (way == "wait") {
    wait_for_all(total);
    return 0;
  }
  pthread_key_create(&plain_key, std::free);
  void* (*const go)(void*) = way == "exit" ? end_by_system_call : free_in_destructor;
  // Each new thread checks a few others. The last ones find all that weren't gone when their successors began.
  constexpr int kCheckingThreads = 30;
  for (int i = 0; i < total + kCheckingThreads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, go, std::malloc(50)) != 0) return 1;
    pthread_join(thread, nullptr);
    if (i >= total) wait_until_alone();
  }
  return 0;
}

int main(int, char** arguments) {
  pthread_key_create(&key, destroy);
  if (arguments[3] != nullptr) return other_ways(std::atoi(arguments[1]), arguments[3]);
  const int total = std::atoi(arguments[1]);
  const int at_once = std::atoi(arguments[2]);
  for (int done = 0; done < total; done += at_once) {
    std::vector<std::thread> threads;
    for (int i = 0; i < at_once; ++i) threads.emplace_back(work);
    for (std::thread& thread : threads) thread.join();
  }
  return 0;
}
