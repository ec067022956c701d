#include "soak.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>

namespace script {

namespace {

std::size_t resident_bytes() {
  std::FILE* statm = std::fopen("/proc/self/statm", "re");
  if (statm == nullptr) return 0;
  unsigned long pages = 0;
  if (std::fscanf(statm, "%*u %lu", &pages) != 1) pages = 0;
  std::fclose(statm);
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::size_t page_bytes(const tare::gc::HeapUse& use) { return use.page_bytes + use.pooled_bytes; }

}  // namespace

// Not inlined: no frame that is left has a pointer of the scripts' when the round ends, so none needs to be looked for.
[[gnu::noinline]] Footprint run_round(Interpreter& interpreter, const std::vector<Script>& scripts,
                                      std::vector<std::string>& expected) {
  const bool learns = expected.empty();
  Footprint footprint;
  for (std::size_t i = 0; i < scripts.size(); ++i) {
    try {
      interpreter.run(scripts[i].source);
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(scripts[i].name + ": " + error.what());
    }
    std::string output = interpreter.take_output();
    if (learns) {
      expected.push_back(std::move(output));
    } else if (output != expected[i]) {
      throw std::runtime_error(scripts[i].name + " printed\n" + output + "instead of\n" + expected[i]);
    }
    footprint.peak_page_bytes = std::max(footprint.peak_page_bytes, page_bytes(interpreter.heap().use()));
  }
  interpreter.heap().collect(tare::gc::StackState::HoldsNone);
  interpreter.heap().finish_sweeping();
  interpreter.atoms().gc();
  const tare::gc::HeapUse use = interpreter.heap().use();
  footprint.live_objects = use.live_objects;
  footprint.live_bytes = use.live_bytes;
  footprint.page_bytes = page_bytes(use);
  footprint.collections = use.collections;
  footprint.atoms = interpreter.atoms().use().used_atoms;
  footprint.resident_bytes = resident_bytes();
  return footprint;
}

}  // namespace script
