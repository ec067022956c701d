// Threads that end in each way, on stacks of their own and of the program's.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

#include "operations.h"
#include "run.h"

namespace dangerous {

namespace {

struct Thread {
  Run run;
  pthread_key_t key;
  unsigned value;
};

// Neither on the stack of the thread that starts them, which in the child of a started thread's fork is the next
// thread's, nor from malloc: pthread_create() is then the first call that a recorder sees.
constexpr unsigned kMaxThreads = 4096;
Thread all_threads[kMaxThreads];
std::atomic<unsigned> threads_used = 0;

void at_thread_end(void* held) {
  free(held);
  free(malloc(123));
}

void* perform_thread(void* argument) {
  auto& thread = *static_cast<Thread*>(argument);
  if (thread.value % 2 == 0) pthread_setspecific(thread.key, malloc(77));
  perform_block(thread.run);
  if (thread.value % 3 == 0) pthread_exit(nullptr);
  return nullptr;
}

}  // namespace

void perform_threads(Run& run, unsigned value) {
  const unsigned count = 1 + value % 4;
  const unsigned first = threads_used.fetch_add(count, std::memory_order_relaxed);
  if (first + count > kMaxThreads) {
    fprintf(stderr, "dangerous: a script of more than %u threads\n", kMaxThreads);
    _exit(2);
  }
  Thread* const threads = &all_threads[first];
  pthread_t ids[4];
  void* stacks[4] = {};
  pthread_key_t key;
  pthread_key_create(&key, at_thread_end);
  for (unsigned i = 0; i < count; ++i) {
    threads[i] = {{run.at, false, {}}, key, value};
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (value % 5 == 0) {
      // the stack of the program's own that is gone at once when the thread is
      stacks[i] = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      pthread_attr_setstack(&attributes, stacks[i], kStackBytes);
    }
    {
      const ProcessUse use;
      note(run, pthread_create(&ids[i], &attributes, perform_thread, &threads[i]));
    }
    pthread_attr_destroy(&attributes);
  }
  for (unsigned i = 0; i < count; ++i) {
    pthread_join(ids[i], nullptr);
    if (stacks[i] != nullptr) munmap(stacks[i], kStackBytes);
    note(run, threads[i].run.digest);
  }
  pthread_key_delete(key);
  skip_block(run);
}

void cancel_a_thread(Run& run, unsigned) {
  pthread_t id;
  const auto wait = [](void*) -> void* {
    free(malloc(321));
    for (;;) pause();
  };
  const ProcessUse use;
  note(run, pthread_create(&id, nullptr, wait, nullptr));
  note(run, static_cast<uint64_t>(pthread_cancel(id)));
  void* end = nullptr;
  pthread_join(id, &end);
  note(run, end == PTHREAD_CANCELED);
}

}  // namespace dangerous
