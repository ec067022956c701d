// Streams a file through zstd: see zstd_file.h.
#include "core/imports/zstd_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace tare::core {
namespace {

constexpr std::size_t kPieceBytes = 1 << 20;
// zstd's own limit for a decoder, 128 MiB; `zstd --ultra --long=31` packs with more.
constexpr int kMostWindowLog = 27;

}  // namespace

ZstdFile::ZstdFile(std::string path, int fd)
    : path_(std::move(path)), fd_(fd), zstd_(ZSTD_createDCtx()), packed_(kPieceBytes) {
  ZSTD_DCtx_setParameter(zstd_, ZSTD_d_windowLogMax, kMostWindowLog);
}

ZstdFile::~ZstdFile() {
  ZSTD_freeDCtx(zstd_);
  ::close(fd_);
}

Result<std::unique_ptr<ZstdFile>> ZstdFile::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Error{ErrorKind::Io, "cannot read " + path + ": " + std::strerror(errno)};
  return std::unique_ptr<ZstdFile>(new ZstdFile(path, fd));
}

Result<std::string> ZstdFile::read() {
  std::string unpacked(kPieceBytes, '\0');
  ZSTD_outBuffer output{unpacked.data(), unpacked.size(), 0};
  while (output.pos == 0) {
    if (input_.pos == input_.size) {
      const ssize_t got = ::read(fd_, packed_.data(), packed_.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return Error{ErrorKind::Io, "cannot read " + path_ + ": " + std::strerror(errno)};
      if (got == 0 && inside_frame_)
        return Error{ErrorKind::Corrupt, path_ + " is damaged: its last zstd frame is cut off"};
      if (got == 0) break;
      input_ = {packed_.data(), static_cast<std::size_t>(got), 0};
    }
    const std::size_t hint = ZSTD_decompressStream(zstd_, &output, &input_);
    if (ZSTD_isError(hint) != 0)
      return Error{ErrorKind::Corrupt, path_ + " is damaged: zstd: " + ZSTD_getErrorName(hint)};
    inside_frame_ = hint != 0;
  }
  unpacked.resize(output.pos);
  return unpacked;
}

}  // namespace tare::core
