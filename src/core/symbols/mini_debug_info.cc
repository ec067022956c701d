// Unpacks .gnu_debugdata with liblzma where CMake found it.
#include "core/symbols/mini_debug_info.h"

#include <algorithm>
#include <string>
#include <utility>

#ifdef TARE_HAVE_LZMA
#include <lzma.h>
#endif

namespace tare::core {

#ifdef TARE_HAVE_LZMA
std::unique_ptr<ElfFile> open_mini_debug_info(const ElfFile& file) {
  constexpr std::uint64_t kMaxMemoryBytes = 128u << 20;  // liblzma's own, for the dictionary
  const std::string_view packed = file.section(".gnu_debugdata");
  if (packed.empty()) return nullptr;
  // Symbols pack to a fifth.
  const std::size_t most_unpacked_bytes = std::min<std::size_t>(256u << 20, (16u << 20) + 64 * packed.size());
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, kMaxMemoryBytes, 0) != LZMA_OK) return nullptr;
  stream.next_in = reinterpret_cast<const std::uint8_t*>(packed.data());
  stream.avail_in = packed.size();
  std::string unpacked;
  lzma_ret result = LZMA_OK;
  while (result == LZMA_OK && unpacked.size() < most_unpacked_bytes) {
    const std::size_t done = unpacked.size();
    unpacked.resize(done + std::max<std::size_t>(done, 1 << 16));
    stream.next_out = reinterpret_cast<std::uint8_t*>(unpacked.data() + done);
    stream.avail_out = unpacked.size() - done;
    result = lzma_code(&stream, LZMA_FINISH);
    unpacked.resize(unpacked.size() - stream.avail_out);
  }
  lzma_end(&stream);
  if (result != LZMA_STREAM_END) return nullptr;
  auto inner = ElfFile::from_bytes(std::move(unpacked), file.stamp().path + "(.gnu_debugdata)");
  return inner ? *std::move(inner) : nullptr;
}
#else
std::unique_ptr<ElfFile> open_mini_debug_info(const ElfFile&) { return nullptr; }
#endif

}  // namespace tare::core
