// The interposed _exit and _Exit: ways out on which no destructor runs.
#include "recorder/hooks/hook_names.h"
#include "recorder/hooks/real.h"
#include "recorder/recorder.h"

namespace tare::recorder {

TARE_HOOK_FUNCTION(void, _exit, (int status)) {
  recorder.note_last_facts();
  recorder.request_exit_snapshot();
  real._exit(status);
}

TARE_HOOK_FUNCTION(void, _Exit, (int status)) {
  recorder.note_last_facts();
  recorder.request_exit_snapshot();
  real._Exit(status);
}

}  // namespace tare::recorder
