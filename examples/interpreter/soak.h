// Runs scripts again and again in one interpreter, and watches what its heap takes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "interpreter.h"

namespace script {

// The interpreter's memory after a round, when everything dead is gone.
struct Footprint {
  std::size_t live_objects = 0;
  std::size_t live_bytes = 0;
  std::size_t page_bytes = 0;       // of the heap, with pooled ones
  std::size_t peak_page_bytes = 0;  // the most that was seen after a script
  std::size_t atoms = 0;            // that somebody holds
  std::size_t resident_bytes = 0;   // of the process
  std::size_t collections = 0;      // so far
};

struct Script {
  std::string name;
  std::string source;
};

// Each script once. Throws std::runtime_error with the script's name if one fails, or prints something else than
// `expected` says; `expected` of no entries takes what comes and becomes it.
Footprint run_round(Interpreter& interpreter, const std::vector<Script>& scripts, std::vector<std::string>& expected);

}  // namespace script
