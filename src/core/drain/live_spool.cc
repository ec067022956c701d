// Shared words of a live spool: see live_spool.h.
#include "core/drain/live_spool.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/process_memory/pid_numbers.h"
#include "trace/base/file_bytes.h"

namespace tare::core {

using namespace trace;

namespace {

constexpr std::uint32_t kFirstControls = 1024;  // those of a program that is drained; a file has 64 MiB of them

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
  if (spool.is_over() && spool.copy()) return spool;
  if (Status mapped = spool.map(); !mapped) return mapped.error();
  return spool;
}

// Its number is free again, or another process's by now: then the spool is mapped, as those of living processes are.
bool LiveSpool::is_over() const {
  static const std::uint64_t own_namespace = own_pid_namespace();
  const auto pid = static_cast<pid_t>(file_.pid());
  if (pid <= 0 || own_namespace == 0 || file_.pid_namespace() != own_namespace) return false;
  return ::kill(pid, 0) != 0 && errno == ESRCH;
}

void LiveSpool::place_first_page(void* page) {
  header_ = static_cast<SpoolHeader*>(page);
  head_controls_ =
      page == nullptr ? nullptr : reinterpret_cast<ChunkControl*>(static_cast<unsigned char*>(page) + kHeadControls);
}

Status LiveSpool::copy() {
  const int fd = file_.descriptor();
  struct stat status{};
  if (fd < 0 || ::fstat(fd, &status) != 0) return cannot_map(file_.path());
  file_.keep_head();
  auto copy = std::make_unique<Copy>();
  if (file_.read(copy->page, kPage, 0) != static_cast<std::int64_t>(kPage)) return cannot_map(file_.path());
  const std::uint32_t count = reinterpret_cast<const SpoolHeader*>(copy->page)->chunk_count.load();
  if (count > kHeadChunks) return cannot_map(file_.path());
  copy_ = std::move(copy);
  place_first_page(copy_->page);
  mapped_controls_ = most_controls_ = count;
  owner_ = status.st_uid;
  return ok();
}

Status LiveSpool::map() {
  const std::string& path = file_.path();
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return cannot_map(path);
  struct stat status{};
  const bool is_known = ::fstat(fd, &status) == 0;
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  if (is_known && bytes >= kHeadBytes) {
    header_map_ = GuardedMapping(kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  } else {
    errno = EINVAL;
  }
  const int error = errno;
  ::close(fd);
  owner_ = status.st_uid;
  if (bytes >= kHeadBytes) mapped_controls_ = most_controls_ = kHeadChunks;
  if (bytes > kControls) {
    const std::uint64_t further = (std::min(bytes, kChunks) - kControls) / sizeof(ChunkControl);
    most_controls_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(kMaxChunks, kHeadChunks + further));
  }
  if (bytes >= kHeadBytes) file_chunks_ = kHeadChunks + (bytes > kChunks ? (bytes - kChunks) / kChunkBytes : 0);
  place_first_page(header_map_.data());
  if (header_ != nullptr) return ok();
  errno = error;
  return cannot_map(path);
}

const std::uint64_t* LiveSpool::words(std::uint32_t chunk) {
  if (chunk >= file_chunks_) return nullptr;  // beyond the file's end, or a copy: read by pread
  const bool is_in_head = chunk < kHeadChunks;
  const std::uint32_t number = is_in_head ? 0 : 1 + (chunk - kHeadChunks) / kWindowChunks;
  const std::uint32_t first = is_in_head ? 0 : kHeadChunks + (number - 1) * kWindowChunks;
  if (number >= windows_.size()) windows_.resize(number + 1);
  GuardedMapping& window = windows_[number];
  if (window.data() == nullptr) {
    window = GuardedMapping((is_in_head ? kHeadChunks : kWindowChunks) * kChunkBytes, PROT_READ, MAP_SHARED,
                            file_.descriptor(), chunk_offset(first));
    if (window.data() == nullptr) return nullptr;
  }
  return static_cast<const std::uint64_t*>(window.data()) + (chunk - first) * (kChunkBytes / 8);
}

// Those mapped so far may move. The same file, even if it was renamed.
void LiveSpool::map_controls(std::uint32_t wanted) {
  const std::uint32_t more = std::min(std::max({wanted, 2 * mapped_controls_, kFirstControls}), most_controls_);
  if (more <= kHeadChunks) return;
  const std::string file = "/proc/self/fd/" + std::to_string(file_.descriptor());
  const int fd = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return;  // the chunks wait
  GuardedMapping larger((more - kHeadChunks) * sizeof(ChunkControl), PROT_READ | PROT_WRITE, MAP_SHARED, fd, kControls);
  ::close(fd);
  if (larger.data() == nullptr) return;
  controls_map_ = std::move(larger);
  controls_ = static_cast<ChunkControl*>(controls_map_.data());
  mapped_controls_ = more;
}

std::uint32_t LiveSpool::chunk_count() {
  const std::uint32_t count = std::min(header_->chunk_count.load(std::memory_order_acquire), most_controls_);
  if (count > mapped_controls_) map_controls(count);
  return std::min(count, mapped_controls_);
}

SpoolCounts LiveSpool::table_counts() {
  SpoolCounts counts;
  counts.flags = header_->flags.load(std::memory_order_acquire);
  counts.modules = std::min<std::uint32_t>(header_->module_count.load(std::memory_order_acquire), kMaxModules);
  counts.rows = std::min<std::uint32_t>(header_->row_count.load(std::memory_order_acquire), kMaxRows);
  counts.threads = header_->thread_count.load(std::memory_order_acquire);
  // Without mapping more: references to controls stay valid.
  counts.chunks = std::min(header_->chunk_count.load(std::memory_order_acquire), mapped_controls_);
  return counts;
}

bool LiveSpool::is_owned_by(pid_t pid) const {
  struct stat status{};
  return ::stat(("/proc/" + std::to_string(pid)).c_str(), &status) == 0 && status.st_uid == owner_;
}

bool LiveSpool::ended() const { return (header_->flags.load(std::memory_order_acquire) & kSpoolEnded) != 0; }
bool LiveSpool::unheard() const { return (header_->flags.load(std::memory_order_relaxed) & kSpoolUnheard) != 0; }
bool LiveSpool::orphaned() const { return (header_->flags.load(std::memory_order_acquire) & kSpoolOrphaned) != 0; }

bool LiveSpool::is_cut() const {
  return header_map_.is_cut() || controls_map_.is_cut() ||
         std::any_of(windows_.begin(), windows_.end(), [](const GuardedMapping& window) { return window.is_cut(); });
}

void LiveSpool::hold(std::uint32_t chunk) {
  control(chunk).state.store(ChunkState::Held, std::memory_order_release);
  header_->full_chunks.fetch_sub(1, std::memory_order_acq_rel);
}

void LiveSpool::give_back(std::uint32_t chunk) {
  control(chunk).state.store(ChunkState::Free, std::memory_order_release);
  push_free(chunk);
}

void LiveSpool::push_free(std::uint32_t chunk) {
  ChunkControl& control = this->control(chunk);
  std::uint64_t head = header_->free_chunks.load(std::memory_order_relaxed);
  std::uint64_t wanted;
  do {
    control.next_free = static_cast<std::uint32_t>(head);
    wanted = ((head >> 32) + 1) << 32 | (chunk + 1);
  } while (
      !header_->free_chunks.compare_exchange_weak(head, wanted, std::memory_order_acq_rel, std::memory_order_relaxed));
}

// Takes the whole list at once: popped one by one, a busy program found none meanwhile and made new ones.
std::vector<std::uint32_t> LiveSpool::take_free() {
  const std::uint32_t count = chunk_count();
  std::uint64_t head = header_->free_chunks.load(std::memory_order_acquire);
  while (!header_->free_chunks.compare_exchange_weak(head, ((head >> 32) + 1) << 32, std::memory_order_acq_rel,
                                                     std::memory_order_acquire)) {
  }
  std::vector<std::uint32_t> taken;
  std::vector<bool> is_taken(count);
  auto top = static_cast<std::uint32_t>(head);
  // A damaged list may contain any chunk, and may be circular.
  while (top != 0 && top <= count && !is_taken[top - 1]) {
    is_taken[top - 1] = true;
    taken.push_back(top - 1);
    top = control(top - 1).next_free;
  }
  return taken;
}

// A chunk that was popped is this process's alone: the program doesn't touch its memory before it pops the chunk
// itself. It has `keep` chunks again at once, and each of the others soon.
void LiveSpool::trim_free(std::size_t keep) {
  const std::vector<std::uint32_t> popped = take_free();
  keep = std::min(keep, popped.size());
  for (std::size_t i = keep; i-- > 0;) push_free(popped[i]);
  const int fd = ::open(("/proc/self/fd/" + std::to_string(file_.descriptor())).c_str(), O_RDWR | O_CLOEXEC);
  for (std::size_t i = keep; i < popped.size(); ++i) {
    const std::uint32_t chunk = popped[i];
    ChunkControl& control = this->control(chunk);
    const auto offset = static_cast<off_t>(chunk_offset(chunk) + kTrimmedBytes);
    if (fd >= 0 && control.real_bytes > kTrimmedBytes && control.real_bytes <= kChunkBytes &&
        ::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, kChunkBytes - kTrimmedBytes) == 0) {
      control.real_bytes = kTrimmedBytes;
    }
    push_free(chunk);
  }
  if (fd >= 0) ::close(fd);
}

}  // namespace tare::core
