// The life of the preloaded library: recording starts with its constructor at the latest and is over with its
// destructor.
#include <dlfcn.h>
#include <link.h>

#include "recorder/operators.h"
#include "recorder/real.h"
#include "recorder/recorder.h"

extern "C" char** environ;
#pragma weak dladdr1  // musl has none, and a missing symbol would end its programs

namespace tare::recorder {
namespace {

// A program with an allocator linked into it never calls the hooks, nor does one whose LD_PRELOAD names another first.
bool is_bypassed() {
  static const char here = 0;
  const char* unused = nullptr;
  void* first = dlsym(RTLD_DEFAULT, "malloc");
  if (object_of(first, &unused) == object_of(&here, &unused)) return false;
  // A program for fixed addresses that takes malloc's has a jump of its own stand for it (node does), which leads here:
  // an undefined symbol with a value.
  Dl_info info;
  void* symbol = nullptr;
  if (&dladdr1 == nullptr || dladdr1(first, &info, &symbol, RTLD_DL_SYMENT) == 0 || symbol == nullptr) return true;
  return static_cast<const ElfW(Sym)*>(symbol)->st_shndx != SHN_UNDEF;
}

__attribute__((constructor(101))) void on_load() {
  recorder.start(environ);
  look_up_operators();
  if (is_bypassed()) recorder.flag_bypassed();
}
__attribute__((destructor(101))) void on_exit() {
  recorder.note_peak_rss();
  recorder.ask_for_exit_moment();
  recorder.end();
}

}  // namespace
}  // namespace tare::recorder
