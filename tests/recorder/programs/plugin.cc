// A C++ plug-in for a C program.
#include <cstdlib>
#include <string>
#include <vector>

extern "C" __attribute__((visibility("default"))) int plugin_run() {
  std::vector<std::string> words;
  for (int i = 0; i < 100; ++i) words.emplace_back(100, 'x');
  try {
    std::string().at(1);
  } catch (...) {
    return static_cast<int>(words.size());
  }
  return 0;
}

// Frees the host's block, and gives it another to free.
extern "C" __attribute__((visibility("default"))) void* plugin_exchange(void* block) {
  std::free(block);
  return std::malloc(200);
}
