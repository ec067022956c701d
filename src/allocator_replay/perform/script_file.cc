#include "allocator_replay/perform/script_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tare::perform {
namespace {

[[noreturn]] void give_up(const char* path, const char* what) {
  dprintf(2, "tare-perform: %s: %s\n", path, what);
  _exit(3);
}

}  // namespace

void* own_memory(std::size_t bytes) {
  void* const memory = mmap(nullptr, std::max<std::size_t>(bytes, 1), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) give_up("memory", std::strerror(errno));
  return memory;
}

ScriptFile::ScriptFile(const char* path) : path_(path), fd_(open(path, O_RDONLY | O_CLOEXEC)) {
  struct stat facts;
  if (fd_ < 0 || fstat(fd_, &facts) != 0) give_up(path, std::strerror(errno));
  file_bytes_ = static_cast<std::uint64_t>(facts.st_size);
  read(&header_, sizeof header_, 0);
  if (header_.magic != core::kScriptMagic) give_up(path, "is no script of calls");
  threads_ = static_cast<const core::ScriptThread*>(
      table(header_.thread_count, sizeof(core::ScriptThread), header_.threads_offset));
  chunks_ = static_cast<const std::uint64_t*>(table(header_.chunk_count, sizeof(std::uint64_t), header_.chunks_offset));
  times_ = static_cast<const std::uint64_t*>(table(header_.time_count, sizeof(std::uint64_t), header_.times_offset));
  if (header_.thread_count == 0 || header_.time_count * core::kTimedSteps < header_.step_count)
    give_up(path, "is no whole script of calls");
  for (std::uint64_t i = 0; i < header_.thread_count; ++i) {
    const core::ScriptThread& one = threads_[i];
    const std::uint64_t chunks = (one.step_count + core::kChunkSteps - 1) / core::kChunkSteps;
    if (one.step_count > header_.step_count || one.first_chunk > header_.chunk_count ||
        chunks > header_.chunk_count - one.first_chunk)
      give_up(path, "is no whole script of calls");
  }
}

std::size_t ScriptFile::read_chunk(std::uint64_t i, std::uint64_t chunk, Step* steps) const {
  const core::ScriptThread& one = threads_[i];
  const std::uint64_t count = std::min(core::kChunkSteps, one.step_count - chunk * core::kChunkSteps);
  read(steps, count * sizeof(Step), chunks_[one.first_chunk + chunk]);
  for (std::uint64_t at = 0; at < count; ++at) {
    if (steps[at].slot >= header_.slot_count || steps[at].order >= header_.step_count)
      give_up(path_, "holds an impossible step");
  }
  return count;
}

void* ScriptFile::table(std::uint64_t count, std::uint64_t size, std::uint64_t at) const {
  if (count > file_bytes_ / size) give_up(path_, "is no whole script of calls");
  void* const memory = own_memory(count * size);
  read(memory, count * size, at);
  return memory;
}

void ScriptFile::read(void* to, std::uint64_t bytes, std::uint64_t at) const {
  char* next = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t done = pread(fd_, next, bytes, static_cast<off_t>(at));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) give_up(path_, done == 0 ? "is cut off" : std::strerror(errno));
    next += done;
    at += static_cast<std::uint64_t>(done);
    bytes -= static_cast<std::uint64_t>(done);
  }
}

}  // namespace tare::perform
