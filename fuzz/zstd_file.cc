// A file of another profiler that zstd packed: any bytes give pieces and an end, or an error.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/imports/zstd_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr int kMostPieces = 64;  // a bomb goes on
  static const int fd = ::memfd_create("zstd", MFD_CLOEXEC);
  if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, data, size, 0) != static_cast<ssize_t>(size)) return 0;
  const auto file = tare::core::ZstdFile::open("/proc/self/fd/" + std::to_string(fd));
  if (!file) std::abort();
  for (int i = 0; i < kMostPieces; ++i) {
    const auto piece = (*file)->read();
    if (!piece || piece->empty()) break;
    if (piece->size() > 1 << 20) std::abort();
  }
  return 0;
}
