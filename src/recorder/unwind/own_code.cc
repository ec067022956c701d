// The bounds come from the headers of the file that has the recorder: the linker's `etext` would be exported.
#include "recorder/unwind/own_code.h"

#include <link.h>

extern "C" const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

namespace tare::recorder {

bool is_own_code(std::uint64_t pc) {
  const auto start = reinterpret_cast<std::uint64_t>(&__ehdr_start);
  const auto* const headers = reinterpret_cast<const ElfW(Phdr)*>(start + __ehdr_start.e_phoff);
  for (const auto* header = headers; header != headers + __ehdr_start.e_phnum; ++header) {
    if (header->p_type == PT_LOAD && (header->p_flags & PF_X) != 0 && pc - start - header->p_vaddr < header->p_memsz)
      return true;
  }
  return false;
}

}  // namespace tare::recorder
