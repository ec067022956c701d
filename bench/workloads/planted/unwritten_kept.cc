// Buffers of 512 bytes of which 40 are written, and which are never freed. lens: unwritten; record: --content; share:
// 20 %
#include "ballast.h"

#ifdef FIXED
constexpr std::size_t kSize = 40;
#else
constexpr std::size_t kSize = 512;
#endif

static char* buffers[16'000];

int main() {
  planted::Ballast ballast(32 << 20);
  for (char*& buffer : buffers) {
    buffer = static_cast<char*>(std::malloc(kSize));
    planted::fill(buffer, 40);
  }
  planted::sink = ballast.use(10);
  planted::truth(16'000 * (512 - 40));
}
