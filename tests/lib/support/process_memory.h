// What the kernel says about this process's memory.
#pragma once

#include <cstddef>
#include <fstream>
#include <string>

namespace tare {

// Bytes of a field of /proc/self/smaps_rollup, "Rss:" for example.
inline std::size_t process_memory_bytes(const std::string& field) {
  std::ifstream file("/proc/self/smaps_rollup");
  std::string word;
  while (file >> word) {
    if (word != field) continue;
    std::size_t kib = 0;
    file >> kib;
    return kib * 1024;
  }
  return 0;
}

}  // namespace tare
