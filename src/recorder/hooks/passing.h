// Which set of functions the most frequent hooks lead to: see passing.cc.
#pragma once

namespace tare::recorder {

enum class Hooks : unsigned {
  Recording,     // every call is recorded
  Sleeping,      // none is, until a launcher wants it
  Passing,       // sampling: most calls aren't
  FreesPassing,  // sampling with an allocator whose block sizes don't follow from requests
};

// Null where there are no hooks, as in tests.
extern "C" __attribute__((weak, visibility("hidden"))) void tare_choose_hooks(Hooks hooks);

}  // namespace tare::recorder
