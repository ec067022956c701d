// The command: runs scripts, or the same ones for minutes while it watches that memory stays flat.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "interpreter.h"
#include "soak.h"

namespace {

constexpr const char* kUsage =
    "usage: interpreter FILE...                    run scripts, one after the other\n"
    "       interpreter --soak SECONDS FILE...     run them in turn for so long; status 1 if memory grows\n";

script::Script read(const char* path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) throw std::runtime_error(std::string(path) + ": can't be read");
  return {path, text.str()};
}

void print(std::size_t round, double seconds, const script::Footprint& footprint) {
  constexpr double kMiB = 1 << 20;
  std::printf(
      "%7zu rounds %5.0f s: %6zu objects, %6.2f MiB live, %6.2f MiB pages (most %.2f), %zu atoms, RSS %.1f MiB, "
      "%zu collections\n",
      round, seconds, footprint.live_objects, static_cast<double>(footprint.live_bytes) / kMiB,
      static_cast<double>(footprint.page_bytes) / kMiB, static_cast<double>(footprint.peak_page_bytes) / kMiB,
      footprint.atoms, static_cast<double>(footprint.resident_bytes) / kMiB, footprint.collections);
  std::fflush(stdout);
}

// What lives after a round is the same for ever; pages and RSS may be a tenth more than after the first rounds.
int soak(double seconds, const std::vector<script::Script>& scripts) {
  constexpr std::size_t kWarmRounds = 3;
  constexpr double kBetweenLines = 30;
  script::Interpreter interpreter;
  std::vector<std::string> expected;
  script::Footprint warm;
  script::Footprint last;
  const auto begin = std::chrono::steady_clock::now();
  double elapsed = 0;
  double next_line = 0;
  std::size_t round = 0;
  while (elapsed < seconds || round <= kWarmRounds) {
    last = script::run_round(interpreter, scripts, expected);
    elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (++round == kWarmRounds) warm = last;
    if (elapsed >= next_line) {
      print(round, elapsed, last);
      next_line += kBetweenLines;
    }
  }
  print(round, elapsed, last);
  const bool is_flat = last.live_objects == warm.live_objects && last.atoms == warm.atoms &&
                       last.page_bytes <= warm.page_bytes + warm.page_bytes / 10 &&
                       last.resident_bytes <= warm.resident_bytes + warm.resident_bytes / 10;
  std::printf("%s\n", is_flat ? "memory is flat" : "memory has grown");
  return is_flat ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const bool soaks = argc > 3 && std::string_view(argv[1]) == "--soak";
    if (argc < 2 || (argv[1][0] == '-' && !soaks)) {
      std::fputs(kUsage, stderr);
      return 2;
    }
    std::vector<script::Script> scripts;
    for (int i = soaks ? 3 : 1; i < argc; ++i) scripts.push_back(read(argv[i]));
    if (soaks) return soak(std::strtod(argv[2], nullptr), scripts);
    script::Interpreter interpreter;
    for (const script::Script& script : scripts) {
      interpreter.run(script.source);
      std::fputs(interpreter.take_output().c_str(), stdout);
    }
    return 0;
  } catch (const std::runtime_error& error) {
    std::fprintf(stderr, "interpreter: %s\n", error.what());
    return 1;
  }
}
