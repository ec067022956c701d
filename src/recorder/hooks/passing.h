// Where the most frequent hooks lead when no sampling recorder lets a call pass: see passing.cc.
#pragma once

namespace tare::recorder {

enum class Hooks : unsigned {
  Recording,  // every call is recorded
  Sleeping,   // none is, until a launcher wants it
  Sampling,   // most aren't, and none while paused
};

// Null where there are no hooks, as in tests.
extern "C" __attribute__((weak, visibility("hidden"))) void tare_choose_hooks(Hooks hooks);

}  // namespace tare::recorder
