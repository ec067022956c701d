// The life of the preloaded library: recording starts with its constructor at the latest and is over with its
// destructor.
#include <dlfcn.h>

#include "recorder/operators.h"
#include "recorder/real.h"
#include "recorder/recorder.h"

extern "C" char** environ;

namespace tare::recorder {
namespace {

// A program with an allocator linked into it never calls the hooks, nor does one whose LD_PRELOAD names another first.
bool is_bypassed() {
  static const char here = 0;
  const char* unused = nullptr;
  return object_of(dlsym(RTLD_DEFAULT, "malloc"), &unused) != object_of(&here, &unused);
}

__attribute__((constructor(101))) void on_load() {
  recorder.start(environ);
  look_up_operators();
  if (is_bypassed()) recorder.flag_bypassed();
}
__attribute__((destructor(101))) void on_exit() { recorder.end(); }

}  // namespace
}  // namespace tare::recorder
