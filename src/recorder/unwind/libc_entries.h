// Functions that only newer C libraries have. They are looked up in the loaded objects when recording starts: a
// reference with a version would keep the library from being loaded if that version is missing.
//
// The recorder's own references need glibc 2.17 (tests/end_to_end/unharmed/test_old_c_libraries.py).
#pragma once

#include <pthread.h>

#include "recorder/base/attributes.h"

struct link_map;

namespace tare::recorder {

// The C library's struct dl_find_object on x86-64.
struct FoundObject {
  unsigned long long flags;
  void* map_start;
  void* map_end;
  link_map* map;
  void* eh_frame;
  unsigned long long reserved[7];
};

struct LibcEntries {
  int (*find_object)(void* address, FoundObject* found) = nullptr;  // glibc 2.35
  // glibc 2.32; else a byte that is always 0: events of a single thread are stamped one by one then.
  const char* single_threaded;
  // Before glibc 2.34 in libpthread, which a program without threads doesn't load.
  int (*key_create)(pthread_key_t*, void (*)(void*)) = nullptr;
  int (*set_specific)(pthread_key_t, const void*) = nullptr;
};

extern TARE_HIDDEN LibcEntries libc_entries;

// A repeated call looks for the missing ones. Async-signal-safe, without locks but that of dl_iterate_phdr().
void look_up_libc_entries();

}  // namespace tare::recorder
