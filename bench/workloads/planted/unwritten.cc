// Buffers of 512 bytes of which 40 are written. lens: unwritten; record: --content; share: 20 %
#include "ballast.h"

#ifdef FIXED
constexpr std::size_t kSize = 40;
#else
constexpr std::size_t kSize = 512;
#endif

int main() {
  constexpr std::size_t kBuffers = 16'000;
  planted::Ballast ballast(32 << 20);
  auto** buffers = static_cast<char**>(std::malloc(kBuffers * sizeof(char*)));
  for (std::size_t i = 0; i < kBuffers; ++i) {
    buffers[i] = static_cast<char*>(std::malloc(kSize));
    planted::fill(buffers[i], 40);
  }
  planted::sink = ballast.use(10);
  for (std::size_t i = 0; i < kBuffers; ++i) std::free(buffers[i]);
  std::free(buffers);
  planted::truth(kBuffers * (512 - 40));
}
