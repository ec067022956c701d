// Reading another process: see process_memory.h.
#include "core/observe/process_memory.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace tare::core {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kFewPages = 16;        // below, reading costs less than asking
constexpr std::uint64_t kMostPages = 1 << 16;  // asked for at once: half a megabyte of entries
constexpr std::uint64_t kPresent = std::uint64_t{1} << 63;
constexpr std::uint64_t kPresentOrSwapped = std::uint64_t{3} << 62;

}  // namespace

ProcessMemory::ProcessMemory(pid_t pid, std::span<const MappedRange> map) : pid_(pid), map_(map) {
  page_map_ = ::open(("/proc/" + std::to_string(pid) + "/pagemap").c_str(), O_RDONLY | O_CLOEXEC);
}

ProcessMemory::~ProcessMemory() {
  if (page_map_ >= 0) ::close(page_map_);
}

std::size_t ProcessMemory::read_all(std::uint64_t address, std::span<std::uint8_t> out) const {
  std::size_t done = 0;
  // A read ends at the first page that isn't mapped; what came before it counts.
  while (done < out.size()) {
    const iovec to{out.data() + done, out.size() - done};
    const iovec from{reinterpret_cast<void*>(address + done), out.size() - done};
    const ssize_t got = ::process_vm_readv(pid_, &to, 1, &from, 1, 0);
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

// All of it in one mapping without a file behind it: a page that isn't there holds zeros.
bool ProcessMemory::is_private_memory(const AddressRange& range) {
  const auto holds = [&](const MappedRange& mapped) {
    return mapped.range.start <= range.start && range.end <= mapped.range.end;
  };
  if (last_ >= map_.size() || !holds(map_[last_])) {
    const auto next = std::upper_bound(map_.begin(), map_.end(), range.start,
                                       [](std::uint64_t at, const MappedRange& one) { return at < one.range.start; });
    if (next == map_.begin() || !holds(*std::prev(next))) return false;
    last_ = static_cast<std::size_t>(std::prev(next) - map_.begin());
  }
  const MappedRange& mapped = map_[last_];
  return mapped.readable && !mapped.shared && (mapped.name.empty() || mapped.name.front() == '[');
}

bool ProcessMemory::ask_page_map(std::uint64_t first_page, std::uint64_t pages) {
  entries_.resize(pages);
  const auto bytes = static_cast<ssize_t>(pages * sizeof(std::uint64_t));
  return ::pread(page_map_, entries_.data(), static_cast<std::size_t>(bytes), static_cast<off_t>(first_page * 8)) ==
         bytes;
}

std::uint64_t ProcessMemory::absent_bytes(const AddressRange& range) {
  const std::uint64_t first = (range.start + kPage - 1) / kPage;
  const std::uint64_t end = range.end / kPage;
  if (end <= first || page_map_ < 0 || !is_private_memory(range)) return 0;
  std::uint64_t absent = 0;
  for (std::uint64_t page = first; page < end;) {
    const std::uint64_t pages = std::min(end - page, kMostPages);
    if (!ask_page_map(page, pages)) return absent;
    absent += static_cast<std::uint64_t>(std::count_if(entries_.begin(), entries_.end(),
                                                       [](std::uint64_t entry) { return (entry & kPresent) == 0; })) *
              kPage;
    page += pages;
  }
  return absent;
}

std::size_t ProcessMemory::bytes_before_left_out(std::uint64_t address, std::size_t bytes) const {
  const auto next = std::upper_bound(left_out_.begin(), left_out_.end(), address,
                                     [](std::uint64_t at, const AddressRange& one) { return at < one.end; });
  if (next == left_out_.end()) return bytes;
  return std::min<std::uint64_t>(bytes, std::max(next->start, address) - address);
}

std::size_t ProcessMemory::read(std::uint64_t address, std::span<std::uint8_t> out) {
  out = out.first(bytes_before_left_out(address, out.size()));
  const std::uint64_t first = address / kPage;
  const std::uint64_t pages = (address + out.size() + kPage - 1) / kPage - first;
  if (pages < kFewPages || page_map_ < 0 || !is_private_memory({address, address + out.size()}))
    return read_all(address, out);
  if (!ask_page_map(first, pages)) return read_all(address, out);
  // Runs of pages that are there, and of pages that aren't.
  std::size_t done = 0;
  for (std::uint64_t page = 0; page < pages;) {
    const bool there = (entries_[page] & kPresentOrSwapped) != 0;
    std::uint64_t end = page + 1;
    while (end < pages && ((entries_[end] & kPresentOrSwapped) != 0) == there) ++end;
    const std::uint64_t stop = std::min((first + end) * kPage, address + out.size()) - address;
    const std::span<std::uint8_t> piece = out.subspan(done, stop - done);
    if (!there) {
      std::fill(piece.begin(), piece.end(), std::uint8_t{0});
    } else if (const std::size_t got = read_all(address + done, piece); got < piece.size()) {
      return done + got;
    }
    done = stop;
    page = end;
  }
  return done;
}

}  // namespace tare::core
