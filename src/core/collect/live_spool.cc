// Shared words of a live spool: see live_spool.h.
#include "core/collect/live_spool.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace tare::core {

using namespace trace;

namespace {

constexpr std::size_t kHeaderBytes = 4096;

Error cannot_map(const std::string& path) {
  const std::string what =
      "cannot map the spool " + path + ": " + std::strerror(errno) + "; its program isn't recorded";
  return {ErrorKind::Io, errno == EMFILE ? what + ", raise the limit on open files (ulimit -n)" : what};
}

}  // namespace

Result<LiveSpool> LiveSpool::open(const std::string& path) {
  Result<SpoolFile> file = SpoolFile::open(path);
  if (!file) return file.error();
  LiveSpool spool(std::move(*file));
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return cannot_map(path);
  struct stat status{};
  void* header = MAP_FAILED;
  void* controls = MAP_FAILED;
  std::uint64_t mapped = 0;
  if (::fstat(fd, &status) == 0 && static_cast<std::uint64_t>(status.st_size) > kControls + sizeof(ChunkControl)) {
    mapped = std::min<std::uint64_t>(kMaxChunks,
                                     (static_cast<std::uint64_t>(status.st_size) - kControls) / sizeof(ChunkControl));
    header = ::mmap(nullptr, kHeaderBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    controls = ::mmap(nullptr, mapped * sizeof(ChunkControl), PROT_READ | PROT_WRITE, MAP_SHARED, fd, kControls);
  } else {
    errno = EINVAL;
  }
  const int error = errno;
  ::close(fd);
  if (static_cast<std::uint64_t>(status.st_size) > kChunks) {
    spool.file_chunks_ = (static_cast<std::uint64_t>(status.st_size) - kChunks) / kChunkBytes;
  }
  if (header != MAP_FAILED) spool.header_ = static_cast<SpoolHeader*>(header);
  if (controls != MAP_FAILED) spool.controls_ = static_cast<ChunkControl*>(controls);
  spool.mapped_controls_ = static_cast<std::uint32_t>(mapped);
  if (spool.header_ == nullptr || spool.controls_ == nullptr) {
    errno = error;
    return cannot_map(path);
  }
  return spool;
}

LiveSpool::LiveSpool(LiveSpool&& other) noexcept
    : file_(std::move(other.file_)),
      header_(std::exchange(other.header_, nullptr)),
      controls_(std::exchange(other.controls_, nullptr)),
      mapped_controls_(other.mapped_controls_),
      file_chunks_(other.file_chunks_),
      windows_(std::move(other.windows_)) {}

LiveSpool::~LiveSpool() { unmap(); }

void LiveSpool::unmap() {
  if (header_ != nullptr) ::munmap(header_, kHeaderBytes);
  if (controls_ != nullptr) ::munmap(controls_, mapped_controls_ * sizeof(ChunkControl));
  for (void* window : windows_) {
    if (window != nullptr) ::munmap(window, kWindowChunks * kChunkBytes);
  }
}

const std::uint64_t* LiveSpool::words(std::uint32_t chunk) {
  if (chunk >= file_chunks_) return nullptr;  // beyond the file's end, where reading would be a SIGBUS
  const std::uint32_t number = chunk / kWindowChunks;
  if (number >= windows_.size()) windows_.resize(number + 1);
  void*& window = windows_[number];
  if (window == nullptr) {
    window = ::mmap(nullptr, kWindowChunks * kChunkBytes, PROT_READ, MAP_SHARED, file_.descriptor(),
                    static_cast<off_t>(chunk_offset(number * kWindowChunks)));
    if (window == MAP_FAILED) window = nullptr;
    if (window == nullptr) return nullptr;
  }
  return static_cast<const std::uint64_t*>(window) + chunk % kWindowChunks * (kChunkBytes / 8);
}

std::uint32_t LiveSpool::chunk_count() const {
  return std::min(header_->chunk_count.load(std::memory_order_acquire), mapped_controls_);
}

SpoolCounts LiveSpool::table_counts() const {
  SpoolCounts counts;
  counts.flags = header_->flags.load(std::memory_order_acquire);
  counts.modules = std::min<std::uint32_t>(header_->module_count.load(std::memory_order_acquire), kMaxModules);
  counts.rows = std::min<std::uint32_t>(header_->row_count.load(std::memory_order_acquire), kMaxRows);
  counts.threads = header_->thread_count.load(std::memory_order_acquire);
  counts.chunks = chunk_count();
  return counts;
}

bool LiveSpool::ended() const { return (header_->flags.load(std::memory_order_acquire) & kSpoolEnded) != 0; }
bool LiveSpool::unheard() const { return (header_->flags.load(std::memory_order_relaxed) & kSpoolUnheard) != 0; }
bool LiveSpool::orphaned() const { return (header_->flags.load(std::memory_order_acquire) & kSpoolOrphaned) != 0; }

void LiveSpool::hold(std::uint32_t chunk) {
  controls_[chunk].state.store(ChunkState::Held, std::memory_order_release);
  header_->full_chunks.fetch_sub(1, std::memory_order_acq_rel);
}

void LiveSpool::give_back(std::uint32_t chunk) {
  ChunkControl& control = controls_[chunk];
  control.state.store(ChunkState::Free, std::memory_order_release);
  std::uint64_t head = header_->free_chunks.load(std::memory_order_relaxed);
  std::uint64_t wanted;
  do {
    control.next_free = static_cast<std::uint32_t>(head);
    wanted = ((head >> 32) + 1) << 32 | (chunk + 1);
  } while (
      !header_->free_chunks.compare_exchange_weak(head, wanted, std::memory_order_acq_rel, std::memory_order_relaxed));
}

}  // namespace tare::core
