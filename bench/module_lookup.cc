// Finds the loaded objects of code addresses, as the recorder does when it sees a return address for the first time.
//   module-lookup found|visited ROUNDS LIBRARY...   found: by _dl_find_object; visited: by dl_iterate_phdr, the fallback
//   for glibc before 2.35
//
// Loads the libraries, takes the address of `function` in each, and looks up all addresses ROUNDS times. Prints how
// many objects are loaded and how many addresses a round has.
#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "recorder/unwind/libc_entries.h"
#include "recorder/unwind/modules.h"

namespace {

int count_object(dl_phdr_info* /*info*/, std::size_t /*size*/, void* count) {
  ++*static_cast<int*>(count);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace tare::recorder;
  if (argc < 4) return 2;
  const bool is_found = std::strcmp(argv[1], "found") == 0;
  const long rounds = std::strtol(argv[2], nullptr, 10);
  std::vector<std::uint64_t> addresses;
  for (char** path = argv + 3; *path != nullptr; ++path) {
    void* const library = ::dlopen(*path, RTLD_NOW);
    if (library == nullptr) return std::fprintf(stderr, "%s\n", ::dlerror()), 1;
    addresses.push_back(reinterpret_cast<std::uint64_t>(::dlsym(library, "function")));
  }
  if (is_found) {
    look_up_libc_entries();
    if (libc_entries.find_object == nullptr) return std::fprintf(stderr, "this glibc has no _dl_find_object\n"), 1;
  }
  LoadedObject object;
  for (long round = 0; round < rounds; ++round) {
    for (const std::uint64_t address : addresses) {
      const bool known =
          is_found ? find_loaded_object(address, object) : find_loaded_object_by_visiting(address, object);
      if (!known || address < object.start || address >= object.end) return 1;
    }
  }
  int objects = 0;
  ::dl_iterate_phdr(count_object, &objects);
  std::printf("%d %zu\n", objects, addresses.size());
}
