// The life of the preloaded library: recording starts with its constructor at the latest and is over with its
// destructor.
#include "recorder/foreign/python.h"
#include "recorder/hooks/operators.h"
#include "recorder/hooks/real.h"
#include "recorder/process/taken_slots.h"
#include "recorder/recorder.h"
#include "recorder/unwind/definitions.h"
#include "recorder/unwind/own_memory.h"
#include "recorder/unwind/stack_memory.h"

extern "C" {
extern char** environ;
// The linker's names for the end of the library's initialized data, and of all its data.
[[gnu::visibility("hidden")]] extern char __bss_start[];
[[gnu::visibility("hidden")]] extern char _end[];
}

namespace tare::recorder {
namespace {

__attribute__((constructor(101))) void on_load() {
  list_zeroed_data(__bss_start, _end);
  remember_objects_at_start();
  find_stack_end(environ);
  recorder.start(environ);
  look_up_operators();
  recorder.find_foreign_allocators();
  if (was_loaded_late()) return offer_slots();
  if (!recorder.off()) wrap_python_allocators();
}
__attribute__((destructor(101))) void on_exit() {
  recorder.note_last_facts();
  recorder.request_exit_snapshot();
  recorder.end();
}

}  // namespace
}  // namespace tare::recorder
