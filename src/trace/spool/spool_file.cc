// Reads a spool: see spool_file.h.
#include "trace/spool/spool_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "trace/base/file_bytes.h"
#include "trace/spool/python_frames.h"

namespace tare::trace {

namespace {

constexpr std::size_t kFirstStringBytes = 2048;      // paths and command line of most processes, by one read
constexpr std::uint32_t kMostStringBytes = 4 << 20;  // a command line may be 2 MiB; more is damage

// A SpoolHeader as the file had it. Its atomics are plain words here.
struct HeaderCopy {
  alignas(SpoolHeader) unsigned char bytes[sizeof(SpoolHeader)] = {};
  const SpoolHeader& operator*() const { return *reinterpret_cast<const SpoolHeader*>(bytes); }
  const SpoolHeader* operator->() const { return &**this; }
};

std::vector<std::string> split_words(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\0', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

// Empty: the process has the title with which it was started, or it hasn't ended.
std::string changed_title(const SpoolHeader& header, const std::vector<std::string>& command_line) {
  std::string title(header.title, ::strnlen(header.title, kTitleBytes - 1));
  title.erase(title.find_last_not_of(' ') + 1);
  if (!command_line.empty() && command_line.front().starts_with(title)) title.clear();
  return title;
}

std::optional<SamplingUse> sampling_use(const SpoolHeader& header) {
  if ((header.flags.load() & kSpoolBudget) == 0) return {};
  SamplingUse use;
  use.doublings = std::min(header.doublings.load(), kMostDoublings);
  use.recorder_cpu_ns = header.recorder_cpu_ns.load();
  use.process_cpu_ns = header.process_cpu_ns.load();
  const std::uint32_t limit = header.stopped_by.load(std::memory_order_acquire);
  if (limit == 0 || limit > static_cast<std::uint32_t>(kLastSamplingLimit)) return use;
  use.stopped_by = static_cast<SamplingLimit>(limit);
  const std::uint64_t at_ns = header.stopped_at_ns.load();
  use.stopped_after_ns = at_ns - std::min(at_ns, header.start_monotonic_ns);
  return use;
}

void put_changing_facts(const SpoolHeader& header, ProcessInfo& info) {
  const std::uint32_t flags = header.flags.load();
  info.malloc_bypassed = (flags & kSpoolBypassed) != 0;
  info.ended_in_order = (flags & kSpoolEnded) != 0;
  info.replaced_by_exec = (flags & kSpoolReplaced) != 0;
  info.dropped_events = header.dropped_events.load();
  info.truncated_stacks = header.truncated_stacks.load();
  info.unwind_failures = header.unwind_failures.load();
  info.unwind_gaps.clear();
  for (const UnwindGap& gap : header.unwind_gaps) {
    if (const std::uint32_t row = gap.row_plus_1.load(); row != 0) {
      info.unwind_gaps.push_back({static_cast<RowId>(row - 1), gap.stacks.load()});
    }
  }
  info.nested_events = header.nested_events.load();
  info.sampling = sampling_use(header);
  info.python = header.python.load();
  info.title = changed_title(header, info.command_line);
}

}  // namespace

Error SpoolFile::unreadable() const {
  const char* advice = errno == EMFILE || errno == ENFILE ? "raise the limit on open files (ulimit -n)"
                                                          : "check the path and its permissions";
  return {ErrorKind::Io, "cannot read " + path_ + ": " + std::strerror(errno) + "; " + advice};
}

int SpoolFile::descriptor() const {
  if (fd_ < 0) fd_ = open_regular(path_.c_str());
  return fd_;
}

std::uint64_t SpoolFile::allocated_bytes() const {
  struct stat facts;
  if (descriptor() < 0 || fstat(fd_, &facts) != 0) return 0;
  return static_cast<std::uint64_t>(facts.st_blocks) * 512;
}

std::int64_t SpoolFile::read(void* to, std::size_t bytes, std::uint64_t offset) const {
  return descriptor() < 0 ? -1 : read_at(fd_, to, bytes, offset);
}

void SpoolFile::rest() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

bool SpoolFile::looks_like_spool(const std::string& path) {
  const int fd = open_regular(path.c_str());
  if (fd < 0) return false;
  char magic[sizeof(kSpoolMagic)];
  const bool same = read_at(fd, magic, sizeof(magic), 0) == static_cast<std::int64_t>(sizeof(magic)) &&
                    std::memcmp(magic, kSpoolMagic, sizeof(magic)) == 0;
  ::close(fd);
  return same;
}

Result<SpoolFile> SpoolFile::open(const std::string& path, const SpoolTables& tables) {
  const int fd = open_regular(path.c_str());
  SpoolFile file(path, fd, tables);
  if (fd < 0) return file.unreadable();
  const auto header = std::make_unique<HeaderCopy>();
  errno = 0;
  if (read_at(fd, header->bytes, sizeof(header->bytes), 0) != static_cast<std::int64_t>(sizeof(header->bytes))) {
    if (errno != 0) return file.unreadable();
    return Error{ErrorKind::NotATrace, path + " is too short for " + tables.name + "; " + tables.source};
  }
  const SpoolHeader& spool = **header;
  if (std::memcmp(spool.magic, tables.magic, sizeof(spool.magic)) != 0) {
    return Error{ErrorKind::NotATrace, path + " is not " + tables.name + "; " + tables.source};
  }
  if (spool.version > tables.version) {
    return Error{ErrorKind::NewerVersion, path + " was written by a newer version of tare; update tare to read it"};
  }
  if (spool.version != tables.version || spool.header_bytes != sizeof(SpoolHeader)) {
    return Error{ErrorKind::Corrupt, path + " is damaged at offset 8: its header is invalid; record again"};
  }
  file.start_ = {spool.start_stamp, spool.start_monotonic_ns};
  file.stamps_are_ns_ = (spool.flags.load() & kSpoolTscIsClock) != 0;
  file.pid_ = spool.pid;
  file.pid_namespace_ = spool.pid_namespace;
  return file;
}

SpoolFile::SpoolFile(SpoolFile&& other) noexcept { *this = std::move(other); }

SpoolFile& SpoolFile::operator=(SpoolFile&& other) noexcept {
  if (this == &other) return *this;
  if (fd_ >= 0) ::close(fd_);
  tables_ = other.tables_;
  path_ = std::move(other.path_);
  fd_ = std::exchange(other.fd_, -1);
  start_ = other.start_;
  stamps_are_ns_ = other.stamps_are_ns_;
  pid_ = other.pid_;
  pid_namespace_ = other.pid_namespace_;
  return *this;
}

SpoolFile::~SpoolFile() {
  if (fd_ >= 0) ::close(fd_);
}

Result<SpoolCounts> SpoolFile::counts() const {
  HeaderCopy header;
  if (read(header.bytes, sizeof(header.bytes), 0) != sizeof(header.bytes)) return unreadable();
  const auto cap = [](std::uint64_t value, std::uint64_t most) {
    return static_cast<std::uint32_t>(std::min(value, most));
  };
  SpoolCounts counts;
  counts.flags = header->flags.load();
  counts.modules = cap(header->module_count.load(), tables_->most_modules);
  counts.rows = cap(header->row_count.load(), tables_->most_rows);
  counts.chunks = cap(header->chunk_count.load(), tables_->most_chunks);
  counts.threads = header->thread_count.load();
  return counts;
}

Result<std::uint64_t> SpoolFile::end_stamp() const {
  HeaderCopy header;
  if (read(header.bytes, sizeof(header.bytes), 0) != sizeof(header.bytes)) return unreadable();
  return header->end_stamp.load();
}

std::string SpoolFile::string_at(StringRef ref) const {
  if (ref.length > kMostStringBytes || std::uint64_t{ref.offset} + ref.length > tables_->string_bytes) return {};
  std::string text(ref.length, '\0');
  if (read(text.data(), text.size(), tables_->strings + ref.offset) != static_cast<std::int64_t>(text.size()))
    return {};
  return text;
}

// Strings are only appended: a string that is referred to is final.
std::span<const char> SpoolFile::first_strings(std::span<char> room) const {
  const std::int64_t got = read(room.data(), room.size(), tables_->strings);
  return room.first(static_cast<std::size_t>(std::max<std::int64_t>(got, 0)));
}

// `pool`: the beginning of the strings, as read so far.
std::string SpoolFile::string_at(StringRef ref, std::span<const char> pool) const {
  if (std::uint64_t{ref.offset} + ref.length > pool.size()) return string_at(ref);
  return {pool.data() + ref.offset, ref.length};
}

Result<ProcessInfo> SpoolFile::process() const {
  HeaderCopy header;
  if (read(header.bytes, sizeof(header.bytes), 0) != sizeof(header.bytes)) return unreadable();
  std::array<char, kFirstStringBytes> first;
  const std::span<const char> pool = first_strings(first);
  ProcessInfo info;
  info.pid = header->pid;
  info.parent_pid = header->parent_pid;
  info.image_index = header->image_index;
  info.page_bytes = header->page_bytes;
  info.allocator = header->allocator;
  info.allocator_path = string_at(header->allocator_path, pool);
  info.exe = string_at(header->exe, pool);
  info.cwd = string_at(header->cwd, pool);
  info.command_line = split_words(string_at(header->command_line, pool));
  info.environment = split_words(string_at(header->environment, pool));
  info.kernel = string_at(header->kernel, pool);
  info.host = string_at(header->host, pool);
  info.start_realtime_ns = header->start_realtime_ns;
  info.sample_bytes = header->sample_bytes;
  const std::uint32_t flags = header->flags.load();
  info.free_stacks = (flags & kSpoolFreeStacks) != 0;
  info.contents_recorded = (flags & kSpoolContents) != 0;
  info.launcher_died = (flags & kSpoolOrphaned) != 0;
  if ((flags & kSpoolSlept) != 0) info.asleep_ns = header->asleep_ns.load();
  if ((flags & kSpoolForked) != 0) {
    info.fork = ForkOrigin{header->fork_parent_pid,    header->fork_parent_image, header->fork_thread,
                           header->fork_thread_events, header->fork_stamp,        {}};
  }
  put_changing_facts(*header, info);
  return info;
}

Status SpoolFile::update(ProcessInfo& info) const {
  HeaderCopy header;
  if (read(header.bytes, sizeof(header.bytes), 0) != sizeof(header.bytes)) return unreadable();
  put_changing_facts(*header, info);
  return ok();
}

Status SpoolFile::grow(const SpoolCounts& counts, Dictionary& dictionary) const {
  std::array<ModuleEntry, 16> entries;
  std::array<char, kFirstStringBytes> first;
  std::span<const char> pool;
  for (std::size_t at = 0, got = 0; dictionary.modules.size() < counts.modules; ++at) {
    if (at == got) {
      const std::size_t known = dictionary.modules.size();
      got = std::min<std::size_t>(entries.size(), counts.modules - known);
      const std::size_t bytes = got * sizeof(ModuleEntry);
      if (read(entries.data(), bytes, tables_->modules + known * sizeof(ModuleEntry)) !=
          static_cast<std::int64_t>(bytes)) {
        return unreadable();
      }
      at = 0;
      if (pool.empty()) pool = first_strings(first);
    }
    const ModuleEntry& entry = entries[at];
    Module module;
    module.load_bias = entry.load_bias;
    module.start = entry.start;
    module.end = std::max(entry.start, entry.end);
    module.path = string_at(entry.path.length <= 4096 ? entry.path : StringRef{0, 0}, pool);
    module.generation = entry.generation;
    module.build_id.assign(entry.build_id,
                           entry.build_id + std::min<std::size_t>(entry.build_id_bytes, sizeof(entry.build_id)));
    dictionary.modules.push_back(std::move(module));
  }
  const std::size_t known = dictionary.rows.size();
  if (known >= counts.rows) return ok();
  dictionary.rows.resize(counts.rows);
  const std::size_t bytes = (counts.rows - known) * sizeof(Row);
  if (read(dictionary.rows.data() + known, bytes, tables_->rows + known * sizeof(Row)) !=
      static_cast<std::int64_t>(bytes)) {
    dictionary.rows.resize(known);
    return unreadable();
  }
  add_python_frames(dictionary, known, [this](StringRef place) { return string_at(place); });
  return ok();
}

Result<std::vector<ChunkFacts>> SpoolFile::chunks(const SpoolCounts& counts) const {
  constexpr std::size_t kBatch = 1024;
  std::vector<ChunkFacts> found;
  std::vector<unsigned char> bytes(kBatch * sizeof(ChunkControl) + alignof(ChunkControl));
  void* aligned = bytes.data();
  std::size_t space = bytes.size();
  std::align(alignof(ChunkControl), kBatch * sizeof(ChunkControl), aligned, space);
  for (std::uint32_t first = 0; first < counts.chunks; first += kBatch) {
    const std::size_t count = std::min<std::size_t>(kBatch, counts.chunks - first);
    const std::int64_t got =
        read(aligned, count * sizeof(ChunkControl), kControls + std::uint64_t{first} * sizeof(ChunkControl));
    if (got < 0) return unreadable();
    const std::size_t whole = static_cast<std::size_t>(got) / sizeof(ChunkControl);
    for (std::size_t i = 0; i < whole; ++i) {
      const ChunkControl& control = static_cast<const ChunkControl*>(aligned)[i];
      const ChunkState state = control.state.load();
      const std::uint32_t committed = control.committed.load();
      if (state == ChunkState::Free || state > ChunkState::Held || committed == 0 || committed > kChunkBytes) continue;
      found.push_back({static_cast<std::uint32_t>(first + i), state, control.thread, control.thread_chunk,
                       control.first_event, committed, control.open_monotonic_ns, control.open_stamp});
    }
    if (whole < count) break;
  }
  std::sort(found.begin(), found.end(), [](const ChunkFacts& a, const ChunkFacts& b) {
    return a.thread != b.thread ? a.thread < b.thread : a.thread_chunk < b.thread_chunk;
  });
  return found;
}

Status SpoolFile::read_words(std::uint32_t chunk, std::uint64_t from, std::uint64_t count,
                             std::vector<std::uint64_t>& words) const {
  words.resize(count);
  const std::int64_t got = read(words.data(), count * 8, chunk_offset(chunk) + from * 8);
  if (got < 0) return unreadable();
  words.resize(static_cast<std::size_t>(got) / 8);
  return ok();
}

Status SpoolFile::read_whole(void* to, std::size_t bytes, std::uint64_t offset) const {
  errno = 0;
  const std::int64_t got = read(to, bytes, offset);
  if (got < 0) return unreadable();
  if (static_cast<std::size_t>(got) == bytes) return ok();
  return Error{ErrorKind::Corrupt, path_ + " is damaged at offset " +
                                       std::to_string(offset + static_cast<std::uint64_t>(got)) +
                                       ": the file ends there; record again"};
}

}  // namespace tare::trace
