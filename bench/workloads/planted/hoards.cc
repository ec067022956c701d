// A cache that is filled at the start and never asked. lens: hoards; record: --content; share: 40 %
#include "ballast.h"

static char* cache[10'000];

int main() {
  constexpr std::size_t kEntry = 2040;
#ifndef FIXED
  for (char*& entry : cache) {
    entry = static_cast<char*>(std::malloc(kEntry));
    planted::fill(entry, kEntry);
  }
#endif
  // The heap grows on for most of the run, so that snapshots near its peak see the cache.
  planted::Ballast* parts[10];
  for (auto*& part : parts) {
    part = new planted::Ballast(3 << 20);
    planted::sink = part->use(200);
  }
  for (auto* part : parts) {
    planted::sink = part->use(20);
    delete part;
  }
  planted::truth(std::size_t{10'000} * (kEntry + 8));
}
