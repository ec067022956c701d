// Reads a jitdump record by record: see jitdump.h.
// SPDX-License-Identifier: Apache-2.0
#include "core/drain/generated_code/jitdump.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "trace/base/file_bytes.h"

namespace tare::core {

namespace {

constexpr std::uint32_t kDumpMagic = 0x4a695444;
constexpr std::uint32_t kDumpVersion = 1;
constexpr std::uint32_t kDumpMachine = 62;  // ELF's e_machine

struct DumpHeader {
  std::uint32_t magic;
  std::uint32_t version;
  std::uint32_t total_bytes;  // of this header
  std::uint32_t machine;
  std::uint32_t reserved;
  std::uint32_t pid;
  std::uint64_t time_ns;
  std::uint64_t flags;
};
static_assert(sizeof(DumpHeader) == 40);

struct DumpRecord {
  std::uint32_t type;
  std::uint32_t total_bytes;  // with this header
  std::uint64_t time_ns;
};
static_assert(sizeof(DumpRecord) == 16);

struct LoadedCode {  // the name follows, terminated, then the code
  DumpRecord header;
  std::uint32_t pid;
  std::uint32_t tid;
  std::uint64_t vma;
  std::uint64_t address;
  std::uint64_t code_bytes;
  std::uint64_t number;
};
static_assert(sizeof(LoadedCode) == 56);
constexpr std::uint32_t kCodeLoad = 0;

constexpr std::size_t kMostNameBytes = 1024;
constexpr std::size_t kMostDumpFolders = 4096;

// The file piece by piece: a call of the kernel for each of 16 million small records would take 8 s.
class DumpWindow {
 public:
  explicit DumpWindow(const ByteSource& source) : source_(source), bytes_(std::size_t{64} << 10) {}

  // The bytes from `offset` on: at most `most`, fewer at the end of the file.
  std::span<const std::uint8_t> at(std::uint64_t offset, std::size_t most) {
    if (offset < begin_ || offset + most > begin_ + size_) {
      begin_ = offset;
      size_ = source_(offset, bytes_);
    }
    const auto from = static_cast<std::size_t>(offset - begin_);
    return std::span(bytes_).subspan(from, std::min(most, size_ - from));
  }

 private:
  const ByteSource& source_;
  std::vector<std::uint8_t> bytes_;
  std::uint64_t begin_ = 0;
  std::size_t size_ = 0;
};

}  // namespace

bool add_jitdump(const ByteSource& source, std::uint32_t pid, GeneratedNames& names) {
  DumpWindow window(source);
  DumpHeader file = {};
  const std::span<const std::uint8_t> first = window.at(0, sizeof file);
  if (first.size() < sizeof file) return false;
  std::memcpy(&file, first.data(), sizeof file);
  const bool is_known = file.magic == kDumpMagic && file.version == kDumpVersion && file.machine == kDumpMachine;
  if (!is_known || file.pid != pid || file.total_bytes < sizeof file) return false;
  for (std::uint64_t offset = file.total_bytes; offset < kMaxPerfMapBytes;) {
    const std::span<const std::uint8_t> bytes = window.at(offset, sizeof(LoadedCode) + kMostNameBytes);
    DumpRecord record = {};
    if (bytes.size() < sizeof record) break;
    std::memcpy(&record, bytes.data(), sizeof record);
    if (record.total_bytes < sizeof record) break;
    LoadedCode load = {};
    if (record.type == kCodeLoad && bytes.size() >= sizeof load && record.total_bytes > sizeof load) {
      std::memcpy(&load, bytes.data(), sizeof load);
      const std::size_t room = std::min<std::size_t>(bytes.size(), record.total_bytes) - sizeof load;
      const char* const name = reinterpret_cast<const char*>(bytes.data() + sizeof load);
      const std::size_t length = ::strnlen(name, room);
      const std::uint64_t code_bytes = std::min(load.code_bytes, ~std::uint64_t{0} - load.address);
      if (length != 0 && code_bytes != 0) names.add({load.address, code_bytes, std::string_view(name, length)});
    }
    offset += record.total_bytes;
  }
  return true;
}

PerfMapUse read_jitdump(const std::string& path, std::uint32_t pid, std::uint32_t owner,
                        std::uint64_t start_realtime_ns, GeneratedNames& names) {
  PerfMapUse use = PerfMapUse::Used;
  const int fd = open_perf_file(path, owner, start_realtime_ns, use);
  if (fd < 0) return use;
  const ByteSource source = [fd](std::uint64_t offset, std::span<std::uint8_t> room) {
    const std::int64_t got = trace::read_at(fd, room.data(), room.size(), offset);
    return static_cast<std::size_t>(std::max<std::int64_t>(got, 0));
  };
  const bool is_used = add_jitdump(source, pid, names);
  ::close(fd);
  return is_used ? PerfMapUse::Used : PerfMapUse::Foreign;
}

std::vector<std::string> jitdump_paths(std::uint32_t pid, const std::string& cwd, const std::string& home) {
  const std::string name = "/jit-" + std::to_string(pid) + ".dump";
  std::vector<std::string> found{cwd + name};
  if (home.empty()) return found;
  std::error_code error;
  std::filesystem::directory_iterator folder(home + "/.debug/jit", error);
  for (std::size_t seen = 0; !error && folder != std::filesystem::directory_iterator() && seen < kMostDumpFolders;
       ++seen) {
    found.push_back(folder->path().string() + name);
    folder.increment(error);
  }
  return found;
}

}  // namespace tare::core
