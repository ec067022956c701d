// A C++ plug-in for a C program.
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
