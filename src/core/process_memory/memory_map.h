// The mappings of a process, from /proc/PID/maps: as much as this project needs.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/process_memory/memory_source.h"

namespace tare::core {

struct MappedRange {
  AddressRange range;
  bool readable = false;
  bool writable = false;
  bool executable = false;
  bool shared = false;
  std::uint64_t inode = 0;  // of its file; 0: anonymous
  std::string name;         // a path, "[heap]", "[stack]", ...; empty: anonymous
};

// Ascending. Empty where the file can't be read.
std::vector<MappedRange> memory_map_of(pid_t pid);
// Of the text of such a file; lines that make no sense are left out.
std::vector<MappedRange> parse_memory_map(std::string_view text);

}  // namespace tare::core
