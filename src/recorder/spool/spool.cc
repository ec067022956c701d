// Making the spool file, its regions real, and its chunks.
#include "recorder/spool/spool.h"

#include <cstring>

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statfs.h>

#include "recorder/base/address.h"
#include "recorder/base/stamp.h"
#include "recorder/base/syscall.h"
#include "recorder/base/text.h"
#include "recorder/spool/shared_page.h"

namespace tare::recorder {

namespace {

constexpr std::uint64_t kSegmentBytes = kSegmentChunks * trace::kChunkBytes;
constexpr std::uint64_t kSegmentControlBytes = kSegmentChunks * sizeof(trace::ChunkControl);
static_assert(kSegmentControlBytes == kPage);

// One `part`th of `limit` in whole pages, between `least` and `most` bytes.
std::uint64_t part_of(std::uint64_t limit, std::uint64_t part, std::uint64_t least, std::uint64_t most) {
  const std::uint64_t bytes = limit / part & ~(kPage - 1);
  return bytes < least ? least : bytes < most ? bytes : most;
}

// A second mapping of the file behind `mapping`, `bytes` long at the same offset of the file. Null on failure.
char* duplicate(char* mapping, std::uint64_t bytes) {
  const long copy = sys::call(SYS_mremap, sys::word(mapping), 0, static_cast<long>(bytes), MREMAP_MAYMOVE);
  return sys::failed(copy) ? nullptr : reinterpret_cast<char*>(copy);
}

// Maps the part of the file after `mapping`, with the same length `bytes`. By its path where mappings can't be
// duplicated: qemu refuses that.
char* map_next(char* mapping, std::uint64_t bytes, const char* path, std::uint64_t offset) {
  if (char* both = duplicate(mapping, 2 * bytes); both != nullptr) {
    sys::munmap(both, bytes);
    return both + bytes;
  }
  const long fd = sys::open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (sys::failed(fd)) return nullptr;
  const long next = sys::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
  sys::close(fd);
  return sys::failed(next) ? nullptr : reinterpret_cast<char*>(next);
}

}  // namespace

long Spool::open_new(const char* directory) {
  Text path(path_, sizeof(path_));
  path.add(directory).add("/");
  directory_bytes_ = path.length();
  path.add(".").add_number(static_cast<std::uint64_t>(sys::getpid())).add(".").add_number(monotonic_ns()).add(".tmp");
  if (path.overflowed()) return -ENAMETOOLONG;
  return sys::open(path_, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
}

Errno Spool::map_header(long fd) {
  const long page = sys::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (sys::failed(page)) return static_cast<Errno>(-page);
  header_ = reinterpret_cast<trace::SpoolHeader*>(page);
  return make_real(reinterpret_cast<char*>(header_), kPage, 0);
}

Errno Spool::create(const char* directory, SpoolMode mode, std::uint64_t launched_bytes) {
  mode_ = mode;
  most_file_bytes_ = 0;
  const long fd = open_new(directory);
  if (sys::failed(fd)) return static_cast<Errno>(-fd);
  Errno error = size_file(fd);
  if (error == 0) error = map_header(fd);
  // The recorder's mappings count against a limit of the address space, so they are smaller under one. A program of
  // 84 MiB must run under a limit of 100 MiB. All tables and chunks together take a tenth of the limit, or 5.5 MiB.
  const std::uint64_t space = sys::limit_of(RLIMIT_AS);
  using Region = Tables::Region;
  const std::uint64_t strings = part_of(space, 128, 512 << 10, trace::kMaxStringBytes);
  const std::uint64_t modules = part_of(space, 512, 128 << 10, trace::kRows - trace::kModules);
  const std::uint64_t rows = part_of(space, 64, 512 << 10, trace::kMaxRows * sizeof(trace::Row));
  if (error == 0) error = map_area(area(Region::Strings), fd, trace::kStrings, strings, 16 << 10);
  if (error == 0) error = map_area(area(Region::Modules), fd, trace::kModules, modules, 16 << 10);
  if (error == 0) error = map_area(area(Region::Rows), fd, trace::kRows, rows, 64 << 10);
  if (error == 0) error = map_segment(0, fd);
  sys::close(fd);
  // Room for the process's facts and a first chunk's beginning, or there's nothing to begin with. No more: a process
  // that lives for a moment pays for each page twice, here and where the file is deleted.
  if (error == 0 && !ensure(Region::Strings, kPage)) error = ENOSPC;
  if (error == 0) error = make_real(segments_[0].payload, kPage, trace::kChunks);
  if (error != 0) {
    discard();
    return error;
  }
  const std::uint64_t launched = launched_bytes / trace::kChunkBytes;
  chunk_limit_ =
      mode == SpoolMode::Standalone || launched > file_chunks_ ? file_chunks_ : static_cast<std::uint32_t>(launched);
  const std::uint64_t chunks = part_of(space, 16, kSegmentBytes, trace::kSpoolBytes) / trace::kChunkBytes;
  if (mode != SpoolMode::Standalone && chunks < chunk_limit_) chunk_limit_ = static_cast<std::uint32_t>(chunks);
  if (chunk_limit_ == 0) chunk_limit_ = 1;
  least_chunks_ = 0;
  is_limit_decided_.store(false, std::memory_order_relaxed);
  return 0;
}

// The whole file gets its size at once (it's sparse), so that no descriptor is needed later, for example when the
// launcher is dead.
Errno Spool::size_file(long fd) {
  constexpr std::uint64_t kLeast = trace::kChunks + kSegmentBytes;
  std::uint64_t bytes = trace::kSpoolBytes;
  const std::uint64_t limit = sys::limit_of(RLIMIT_FSIZE);  // going over it would mean SIGXFSZ
  if (limit < bytes) bytes = limit;
  while (bytes >= kLeast) {
    const std::uint64_t segments = (bytes - trace::kChunks) / kSegmentBytes;
    bytes = trace::kChunks + segments * kSegmentBytes;
    const long result = sys::call(SYS_ftruncate, fd, static_cast<long>(bytes));
    if (!sys::failed(result)) {
      file_chunks_ = static_cast<std::uint32_t>(segments * kSegmentChunks);
      return 0;
    }
    if (result != -EFBIG && result != -EINVAL) return static_cast<Errno>(-result);
    bytes /= 2;  // a file system with a lower limit on file sizes
  }
  return EFBIG;
}

Errno Spool::map_area(Area& area, long fd, std::uint64_t offset, std::uint64_t bytes, std::uint64_t step) {
  const long base = sys::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
  if (sys::failed(base)) return static_cast<Errno>(-base);
  area.base = reinterpret_cast<char*>(base);
  area.offset = offset;
  area.capacity = bytes;
  area.step = step;
  area.ready.store(0, std::memory_order_relaxed);
  return 0;
}

// Maps segment number `segment`, the one after those mapped; by `fd` for the first, else from its predecessor.
Errno Spool::map_segment(std::uint32_t segment, long fd) {
  Segment& slot = segments_[segment];
  char* controls = nullptr;
  char* payload = nullptr;
  if (segment == 0) {
    const int access = PROT_READ | PROT_WRITE;
    const long first = sys::mmap(nullptr, kSegmentControlBytes, access, MAP_SHARED, fd, trace::kControls);
    const long second = sys::mmap(nullptr, kSegmentBytes, access, MAP_SHARED, fd, trace::kChunks);
    if (!sys::failed(first)) controls = reinterpret_cast<char*>(first);
    if (!sys::failed(second)) payload = reinterpret_cast<char*>(second);
  } else {
    const Segment& before = segments_[segment - 1];
    controls = map_next(reinterpret_cast<char*>(before.controls), kSegmentControlBytes, path_,
                        trace::kControls + segment * kSegmentControlBytes);
    payload = map_next(before.payload, kSegmentBytes, path_, trace::kChunks + segment * kSegmentBytes);
  }
  if (controls == nullptr || payload == nullptr) {
    if (controls != nullptr) sys::munmap(controls, kSegmentControlBytes);
    if (payload != nullptr) sys::munmap(payload, kSegmentBytes);
    return ENOMEM;
  }
  const std::uint64_t offset = trace::kControls + segment * kSegmentControlBytes;
  if (const Errno error = make_real(controls, kSegmentControlBytes, offset); error != 0) {
    sys::munmap(controls, kSegmentControlBytes);
    sys::munmap(payload, kSegmentBytes);
    return error;
  }
  slot.controls = reinterpret_cast<trace::ChunkControl*>(controls);
  slot.payload = payload;
  slot.full.store(0, std::memory_order_relaxed);
  slot.gone.store(0, std::memory_order_relaxed);
  mapped_segments_.store(segment + 1, std::memory_order_seq_cst);
  // The predecessor was kept as the source of this mapping even if all its chunks were done.
  if (segment > 0) unmap_if_full(segments_[segment - 1]);
  return 0;
}

// Pages of a mapping backed by disk or tmpfs pages from now on, so that writing them can't fail.
Errno Spool::make_real(char* address, std::uint64_t bytes, std::uint64_t offset) {
  for (int attempt = 0; attempt < 4; ++attempt) {
    const long result = sys::madvise(address, bytes, kPopulateWrite);
    if (!sys::failed(result)) return 0;
    if (result == -EINVAL) return allocate_by_path(offset, bytes);  // Linux before 5.14
    if (result == -EFAULT) return ENOSPC;                           // where a touch would mean SIGBUS
    if (result != -EINTR && result != -EAGAIN) return static_cast<Errno>(-result);
  }
  return EAGAIN;
}

Errno Spool::allocate_by_path(std::uint64_t offset, std::uint64_t bytes) {
  const long fd = sys::open(path_, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (sys::failed(fd)) return static_cast<Errno>(-fd);
  long result = sys::call(SYS_fallocate, fd, 0, static_cast<long>(offset), static_cast<long>(bytes));
  if (result == -EOPNOTSUPP) {
    static const char zeros[kPage] = {};
    for (std::uint64_t done = 0; done < bytes; done += kPage) {
      result = sys::call(SYS_pwrite64, fd, sys::word(zeros), kPage, static_cast<long>(offset + done));
      if (result != static_cast<long>(kPage)) break;
    }
    if (result == static_cast<long>(kPage))
      result = 0;
    else if (!sys::failed(result))
      result = -ENOSPC;
  }
  sys::close(fd);
  return sys::failed(result) ? static_cast<Errno>(-result) : 0;
}

namespace {

Errno rename_new(const char* from, const char* to) {
  long result = sys::call(SYS_renameat2, AT_FDCWD, sys::word(from), AT_FDCWD, sys::word(to), RENAME_NOREPLACE);
  if (result == -EINVAL || result == -ENOSYS) {  // a file system without it
    result = sys::call(SYS_linkat, AT_FDCWD, sys::word(from), AT_FDCWD, sys::word(to), 0);
    if (!sys::failed(result)) sys::call(SYS_unlinkat, AT_FDCWD, sys::word(from), 0);
  }
  return sys::failed(result) ? static_cast<Errno>(-result) : 0;
}

}  // namespace

Errno Spool::publish_numbered(std::uint32_t pid, const char* suffix) {
  for (std::uint32_t number = 0;; ++number) {
    Text path(scratch_, sizeof(scratch_));
    path.add_bytes(path_, directory_bytes_).add_number(pid).add(".").add_number(number).add(suffix);
    header_->image_index = number;
    const Errno error = rename_new(path_, scratch_);
    if (error == EEXIST && number < 1'000'000) continue;
    if (error == 0) std::memcpy(path_, scratch_, path.length() + 1);
    return error;
  }
}

Errno Spool::publish_named(const char* name) {
  for (std::uint32_t number = 0;; ++number) {
    Text path(scratch_, sizeof(scratch_));
    path.add_bytes(path_, directory_bytes_).add(name);
    if (number > 0) path.add(".e").add_number(number);
    path.add(trace::kSpoolSuffix);
    if (path.overflowed()) return ENAMETOOLONG;
    header_->image_index = number;
    const Errno error = rename_new(path_, scratch_);
    if (error == EEXIST && number < 10'000) continue;
    if (error == 0) std::memcpy(path_, scratch_, path.length() + 1);
    return error;
  }
}

void Spool::unlink() { sys::call(SYS_unlinkat, AT_FDCWD, sys::word(path_), 0); }

void Spool::discard() {
  unlink();
  abandon();
}

void Spool::abandon() {
  if (header_ == nullptr) return;  // never made, or abandoned before: its segments aren't touched
  const std::uint32_t mapped = mapped_segments_.load(std::memory_order_relaxed);
  for (std::uint32_t segment = 0; segment < mapped; ++segment) {
    Segment& slot = segments_[segment];
    sys::munmap(slot.controls, kSegmentControlBytes);
    if (slot.gone.load(std::memory_order_relaxed) == 0) sys::munmap(slot.payload, kSegmentBytes);
    slot.controls = nullptr;
    slot.payload = nullptr;
  }
  mapped_segments_.store(0, std::memory_order_relaxed);
  for (Area& area : areas_) {
    if (area.base != nullptr) sys::munmap(area.base, area.capacity);
    area.base = nullptr;
    area.capacity = 0;
  }
  if (header_ != nullptr) sys::munmap(header_, kPage);
  header_ = nullptr;
}

// Shared memory doesn't count against RLIMIT_DATA. Only one mapping is replaced, because the fault shows that it
// exists; another thread may be unmapping the spool's others.
bool Spool::replace_mapping(std::uint64_t address) {
  const auto replace = [address](const void* base, std::uint64_t bytes) {
    if (base == nullptr || address - reinterpret_cast<std::uint64_t>(base) >= bytes) return false;
    constexpr int kFlags = MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    return !sys::failed(sys::mmap(const_cast<void*>(base), bytes, PROT_READ | PROT_WRITE, kFlags, -1, 0));
  };
  if (header_ == nullptr) return false;
  if (replace(header_, kPage)) return true;
  for (const Area& area : areas_) {
    if (replace(area.base, area.capacity)) return true;
  }
  const std::uint32_t mapped = mapped_segments_.load(std::memory_order_acquire);
  for (std::uint32_t segment = 0; segment < mapped; ++segment) {
    if (replace(segments_[segment].controls, kSegmentControlBytes)) return true;
    if (replace(segments_[segment].payload, kSegmentBytes)) return true;
  }
  return false;
}

void Spool::make_private(std::uint64_t* chunk, trace::ChunkControl* control) {
  constexpr int kAccess = PROT_READ | PROT_WRITE;
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  if (chunk != nullptr) {
    auto* const controls = reinterpret_cast<char*>(sys::word(control) & ~static_cast<long>(kPage - 1));
    sys::mmap(chunk, trace::kChunkBytes, kAccess, kFlags | MAP_FIXED, -1, 0);
    sys::mmap(controls, kSegmentControlBytes, kAccess, kFlags | MAP_FIXED, -1, 0);
  }
  if (header_ == nullptr) return;
  const long copy = sys::mmap(nullptr, kPage, kAccess, kFlags, -1, 0);
  if (sys::failed(copy)) return;
  std::memcpy(reinterpret_cast<void*>(copy), header_, kPage);
  sys::call(SYS_mremap, copy, kPage, kPage, MREMAP_MAYMOVE | MREMAP_FIXED, sys::word(header_));
}

Tables Spool::tables() {
  using Region = Tables::Region;
  Tables tables{};
  tables.rows = reinterpret_cast<trace::Row*>(area(Region::Rows).base);
  tables.row_count = &header_->row_count;
  tables.modules = reinterpret_cast<trace::ModuleEntry*>(area(Region::Modules).base);
  tables.module_count = &header_->module_count;
  const std::uint64_t modules = area(Region::Modules).capacity / sizeof(trace::ModuleEntry);
  tables.module_limit = modules < trace::kMaxModules ? static_cast<std::uint32_t>(modules) : trace::kMaxModules;
  tables.strings = area(Region::Strings).base;
  tables.string_bytes = &header_->string_bytes;
  tables.python = &header_->python;
  tables.string_limit = area(Region::Strings).capacity;
  tables.exe = header_->exe;
  tables.ensure = [](void* spool, Region region, std::uint64_t bytes) {
    return static_cast<Spool*>(spool)->ensure(region, bytes);
  };
  tables.context = this;
  return tables;
}

bool Spool::ensure(Area& wanted, std::uint64_t bytes) {
  const std::uint64_t ready = wanted.ready.load(std::memory_order_acquire);
  if (bytes <= ready) return true;
  if (bytes > wanted.capacity) return false;
  // A table begins with a page and doubles up to its step: most processes end before it has a second one.
  std::uint64_t step = ready < kPage ? kPage : ready;
  if (step > wanted.step) step = wanted.step;
  std::uint64_t end = (bytes + step - 1) / step * step;
  if (end > wanted.capacity) end = wanted.capacity;
  if (most_file_bytes_ != 0 && file_bytes() + (end - ready) > most_file_bytes_) return false;
  // Two threads may allocate the same range: the second call changes nothing.
  if (make_real(wanted.base + ready, end - ready, wanted.offset + ready) != 0) return false;
  std::uint64_t seen = ready;
  while (seen < end && !wanted.ready.compare_exchange_weak(seen, end, std::memory_order_acq_rel)) {
  }
  return true;
}

char* Spool::begin_string(std::uint64_t bytes) {
  const std::uint32_t offset = header_->string_bytes.load(std::memory_order_relaxed);
  if (!ensure(Tables::Region::Strings, offset + bytes)) return nullptr;
  return area(Tables::Region::Strings).base + offset;
}

trace::StringRef Spool::end_string(std::uint64_t length) {
  const std::uint32_t offset = header_->string_bytes.load(std::memory_order_relaxed);
  header_->string_bytes.store(static_cast<std::uint32_t>(offset + length), std::memory_order_release);
  return {offset, static_cast<std::uint32_t>(length)};
}

std::uint32_t Spool::pop_free() {
  std::atomic<std::uint64_t>& head = header_->free_chunks;
  std::uint64_t seen = head.load(std::memory_order_acquire);
  while (true) {
    const std::uint32_t top = static_cast<std::uint32_t>(seen);
    // An index that can't be is not followed: the other end of the mapping is another process.
    if (top == 0 || top > header_->chunk_count.load(std::memory_order_relaxed)) return kNoChunk;
    // Another thread may take and use the chunk meanwhile: then the tag has moved on and the exchange fails.
    const std::uint32_t next = control(top - 1).next_free;
    const std::uint64_t wanted = ((seen >> 32) + 1) << 32 | next;
    if (head.compare_exchange_weak(seen, wanted, std::memory_order_acq_rel, std::memory_order_acquire)) return top - 1;
  }
}

void Spool::keep(std::uint32_t chunk) {
  std::atomic<std::uint64_t>& head = header_->free_chunks;
  std::uint64_t seen = head.load(std::memory_order_relaxed);
  std::uint64_t wanted;
  do {
    control(chunk).next_free = static_cast<std::uint32_t>(seen);
    wanted = ((seen >> 32) + 1) << 32 | (chunk + 1);
  } while (!head.compare_exchange_weak(seen, wanted, std::memory_order_acq_rel, std::memory_order_relaxed));
}

bool Spool::leaves_reserve() const {
  struct statfs space = {};
  if (sys::failed(sys::call(SYS_statfs, sys::word(path_), sys::word(&space)))) return true;  // deleted, or chroot
  const std::uint64_t block = static_cast<std::uint64_t>(space.f_bsize);
  const std::uint64_t free_bytes = space.f_bavail * block;
  const std::uint64_t twentieth = space.f_blocks * block / 20;
  constexpr std::uint64_t kReserve = std::uint64_t{512} << 20;
  return free_bytes > (twentieth < kReserve ? twentieth : kReserve);
}

bool Spool::extend(std::uint32_t chunk, std::uint64_t bytes) {
  trace::ChunkControl& control = this->control(chunk);
  const std::uint64_t real = control.real_bytes;
  std::uint64_t wanted = real == 0 ? kPage : 4 * real;  // 0: the file was cut short
  while (wanted < bytes) wanted *= 4;
  if (wanted > trace::kChunkBytes) wanted = trace::kChunkBytes;
  if (real >= wanted) return true;
  char* address = reinterpret_cast<char*>(payload(chunk)) + real;
  if (make_real(address, wanted - real, trace::chunk_offset(chunk) + real) != 0) return false;
  control.real_bytes = wanted;
  return true;
}

std::uint32_t Spool::grow(std::uint64_t bytes) {
  const std::uint32_t chunk = header_->chunk_count.load(std::memory_order_relaxed);
  header_->chunk_limit.store(chunk_limit_ > least_chunks_ ? chunk_limit_ : least_chunks_, std::memory_order_relaxed);
  if (chunk >= chunk_limit()) return kNoChunk;
  const std::uint32_t segment = chunk / kSegmentChunks;
  if (is_unbounded() && chunk % kSegmentChunks == 0 && !leaves_reserve()) return kNoChunk;
  if (segment >= mapped_segments_.load(std::memory_order_relaxed) && map_segment(segment, -1) != 0) return kNoChunk;
  char* address = reinterpret_cast<char*>(payload(chunk));
  if (make_real(address, bytes, trace::chunk_offset(chunk)) != 0) return kNoChunk;
  control(chunk).real_bytes = bytes;
  header_->chunk_count.store(chunk + 1, std::memory_order_release);
  return chunk;
}

void Spool::finish(std::uint32_t chunk) {
  control(chunk).state.store(trace::ChunkState::Full, std::memory_order_release);
  header_->full_chunks.fetch_add(1, std::memory_order_acq_rel);
  if (mode_ != SpoolMode::Standalone) return;
  const std::uint32_t segment = chunk / kSegmentChunks;
  Segment& slot = segments_[segment];
  slot.full.fetch_add(1, std::memory_order_seq_cst);
  if (segment + 1 < mapped_segments_.load(std::memory_order_seq_cst)) unmap_if_full(slot);
}

// Two threads may come here for one segment: only one may unmap, for by the second time the addresses may be someone
// else's.
void Spool::unmap_if_full(Segment& segment) {
  if (segment.full.load(std::memory_order_seq_cst) != kSegmentChunks) return;
  if (segment.gone.exchange(1, std::memory_order_acq_rel) == 0) sys::munmap(segment.payload, kSegmentBytes);
}

}  // namespace tare::recorder
