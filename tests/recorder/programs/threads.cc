// Threads coming and going; keys with destructors that free and allocate. Argument 1: how many, argument 2: at once.
#include <pthread.h>

#include <cstdlib>
#include <thread>
#include <vector>

static pthread_key_t key;
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

int main(int, char** arguments) {
  pthread_key_create(&key, destroy);
  const int total = std::atoi(arguments[1]);
  const int at_once = std::atoi(arguments[2]);
  for (int done = 0; done < total; done += at_once) {
    std::vector<std::thread> threads;
    for (int i = 0; i < at_once; ++i) threads.emplace_back(work);
    for (std::thread& thread : threads) thread.join();
  }
  return 0;
}
