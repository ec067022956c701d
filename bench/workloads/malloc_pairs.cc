// Calls malloc and free in pairs, of eight small sizes in turn: malloc_pairs PAIRS. Prints the CPU time of a pair in
// ns.
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {

volatile std::size_t sizes_bytes[8] = {16, 40, 64, 24, 100, 56, 32, 200};

double cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

}  // namespace

int main(int, char** arguments) {
  const long pairs = std::atol(arguments[1]);
  const double start = cpu_ns();
  for (long i = 0; i < pairs; ++i) {
    void* volatile block = std::malloc(sizes_bytes[i & 7]);
    std::free(block);
  }
  std::printf("%.3f\n", (cpu_ns() - start) / static_cast<double>(pairs));
}
