// One pass over the loaded objects: see libc_entries.h.
#include "recorder/unwind/libc_entries.h"

#include "recorder/unwind/definitions.h"

namespace tare::recorder {

namespace {
constexpr char kAlwaysSeveral = 0;
}

constinit LibcEntries libc_entries = {nullptr, &kAlwaysSeveral, nullptr, nullptr};

// The program's copy of `__libc_single_threaded` comes first, if it has one: the C library writes to that.
void look_up_libc_entries() {
  Definition found[] = {
      {"_dl_find_object"}, {"__libc_single_threaded"}, {"pthread_key_create"}, {"pthread_setspecific"}};
  find_definitions(found, sizeof(found) / sizeof(found[0]), SearchFrom::FirstObject);
  libc_entries.find_object = reinterpret_cast<decltype(libc_entries.find_object)>(found[0].address);
  if (found[1].address != nullptr) libc_entries.single_threaded = static_cast<const char*>(found[1].address);
  libc_entries.key_create = reinterpret_cast<decltype(libc_entries.key_create)>(found[2].address);
  libc_entries.set_specific = reinterpret_cast<decltype(libc_entries.set_specific)>(found[3].address);
}

}  // namespace tare::recorder
