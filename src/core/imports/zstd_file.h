// A file compressed by zstd, unpacked piece by piece: memory doesn't depend on the unpacked size.
#pragma once

#include <zstd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trace/base/result.h"

namespace tare::core {

class ZstdFile {
 public:
  static Result<std::unique_ptr<ZstdFile>> open(const std::string& path);
  ZstdFile(const ZstdFile&) = delete;
  ZstdFile& operator=(const ZstdFile&) = delete;
  ~ZstdFile();

  // The next bytes, at most 1 MiB; empty at the end. A frame that is cut off by the end of the file yields its readable
  // part, then Corrupt.
  Result<std::string> read();

 private:
  ZstdFile(std::string path, int fd);
  std::string path_;
  int fd_;
  ZSTD_DCtx* zstd_;
  std::vector<char> packed_;
  ZSTD_inBuffer input_{};
  bool inside_frame_ = false;
};

}  // namespace tare::core
