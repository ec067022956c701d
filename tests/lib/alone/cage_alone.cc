// A program with a Cage and 4-byte pointers into it, and nothing else of the library.
#include "tare/cage.h"
#include "tare/compressed_ptr.h"

namespace {

struct AloneCage {
  static constexpr std::size_t kGranuleBytes = 8;
};

}  // namespace

int main() {
  tare::CageResult<tare::Cage> cage = tare::Cage::reserve(tare::cage_options<AloneCage>());
  if (!cage || tare::CageBase<AloneCage>::bind(cage.value()) != tare::CageError::None) return 1;
  const tare::CageResult<tare::PageRun> run = cage.value().allocate(4096);
  if (!run) return 1;
  const tare::CompressedPtr<std::byte, AloneCage> first = run.value().data;
  return first.get() == run.value().data ? 0 : 1;
}
