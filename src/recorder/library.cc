// The life of the preloaded library: recording starts with its constructor at the latest and is over with its destructor.
#include "recorder/recorder.h"

extern "C" char** environ;

namespace tare::recorder {
namespace {

__attribute__((constructor(101))) void on_load() { recorder.start(environ); }
__attribute__((destructor(101))) void on_exit() { recorder.end(); }

}  // namespace
}  // namespace tare::recorder
