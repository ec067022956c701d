// Performs a script of calls that a recorder could get wrong, and prints a digest of what they returned.
//
// The digest depends on the script alone, not on addresses, times or the order of threads, so that two runs of a script
// can be compared. The script is argv[1]: an operation is a letter, a number, and for some a block in parentheses.
// generate.py lists the operations.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>

#include "operations.h"
#include "run.h"

namespace dangerous {

char* program_path = nullptr;

namespace {

pthread_rwlock_t process_lock = PTHREAD_RWLOCK_INITIALIZER;

void before_fork() {
  lock_faults();
  pthread_rwlock_wrlock(&process_lock);
}
void after_fork() {
  pthread_rwlock_unlock(&process_lock);
  unlock_faults();
}
// The lock is that of a thread with another number.
void after_fork_in_child() {
  process_lock = PTHREAD_RWLOCK_INITIALIZER;
  unlock_faults();
}

// The C library loads another for the first thread that ends by pthread_exit(), under the loader's lock.
void load_what_threads_need() {
  pthread_t thread;
  const auto end = [](void*) -> void* { pthread_exit(nullptr); };
  if (pthread_create(&thread, nullptr, end, nullptr) == 0) pthread_join(thread, nullptr);
}

struct Operation {
  char letter;
  void (*perform)(Run& run, unsigned value);
};

constexpr Operation kOperations[] = {
    {'a', allocate},
    {'r', resize},
    {'f', [](Run& run, unsigned value) { drop(run, run.slots[value % kSlots]); }},
    {'x', fail_to_allocate},
    {'m', use_mapping},
    {'p', protect_inside_a_block},
    {'g', give_back},
    {'t', perform_threads},
    {'c', cancel_a_thread},
    {'k', perform_fork},
    {'q', perform_raw_fork},
    {'s', start_program},
    {'e', exec_itself},
    {'y', exec_from_vfork},
    {'h', perform_handler},
    {'j', perform_disarmed_handler},
    {'v', survive_a_fault},
    {'i', start_ticking},
    {'o', perform_coroutine},
    {'u', perform_on_a_shrinking_stack},
    {'w', throw_and_catch},
    {'d', [](Run& run, unsigned value) { recurse(run, value % 50); }},
    {'l', load_library},
    {'b', filter_calls},
    {'z', change_the_process},
    {'n', change_a_limit},
    {'P', change_by_prctl},
    {'U', serve_faults},
    {'I', use_a_ring},
    {'A', [](Run&, unsigned) { abort(); }},
    {'X', [](Run&, unsigned value) { exit(static_cast<int>(value % 100)); }},
};

void perform(Run& run, char letter, unsigned value) {
  for (const Operation& operation : kOperations) {
    if (operation.letter == letter) return operation.perform(run, value);
  }
  fprintf(stderr, "dangerous: unknown operation '%c'\n", letter);
  _exit(2);
}

unsigned number(Run& run) {
  unsigned value = 0;
  while (*run.at >= '0' && *run.at <= '9') value = value * 10 + static_cast<unsigned>(*run.at++ - '0');
  return value;
}

void perform_script(Run& run) {
  while (*run.at != '\0' && *run.at != ')') {
    const char operation = *run.at++;
    const unsigned value = number(run);
    perform(run, operation, value);
    skip_block(run);
    note(run, static_cast<uint64_t>(operation));
  }
}

}  // namespace

ProcessUse::ProcessUse() { pthread_rwlock_rdlock(&process_lock); }
ProcessUse::~ProcessUse() { pthread_rwlock_unlock(&process_lock); }
ProcessChange::ProcessChange() { pthread_rwlock_wrlock(&process_lock); }
ProcessChange::~ProcessChange() { pthread_rwlock_unlock(&process_lock); }

void skip_block(Run& run) {
  if (*run.at != '(') return;
  int depth = 0;
  do {
    depth += *run.at == '(';
    depth -= *run.at == ')';
    ++run.at;
  } while (depth > 0 && *run.at != '\0');
}

void perform_block(Run& run) {
  if (*run.at != '(') return;
  const char* const block = run.at;
  ++run.at;
  perform_script(run);
  run.at = block;
  skip_block(run);
}

}  // namespace dangerous

int main(int count, char** arguments) {
  using namespace dangerous;
  if (count != 2) {
    fprintf(stderr, "usage: dangerous SCRIPT (generate.py makes them)\n");
    return 2;
  }
  pthread_atfork(before_fork, after_fork, after_fork_in_child);
  program_path = realpath("/proc/self/exe", nullptr);
  load_what_threads_need();
  Run run{arguments[1], true, {}};
  perform_script(run);
  for (Slot& slot : run.slots) drop(run, slot);
  printf("%016llx\n", static_cast<unsigned long long>(run.digest));
  return 0;
}
