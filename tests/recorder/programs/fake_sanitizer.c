// Ends its program as a sanitizer's library does that isn't the first: where the recorder is preloaded.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((constructor)) static void check(void) {
  const char* preload = getenv("LD_PRELOAD");
  if (preload != NULL && strstr(preload, "tare-record") != NULL) _exit(99);
}
