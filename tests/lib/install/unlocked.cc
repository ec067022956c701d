// Reads what a mutex guards without holding it: clang must refuse this unit.
#include "lib/fork/mutex.h"

namespace tare {

class Guarded {
 public:
  int read() { return value_; }

 private:
  Mutex mutex_;
  int value_ TARE_GUARDED_BY(mutex_) = 0;
};

int read(Guarded& guarded) { return guarded.read(); }

}  // namespace tare
