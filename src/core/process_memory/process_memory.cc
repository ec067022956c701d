// Reading another process: see process_memory.h.
#include "core/process_memory/process_memory.h"

#include <sys/uio.h>

#include <algorithm>

namespace tare::core {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kFewPages = 16;        // fewer are looked up one by one
constexpr std::uint64_t kMostPages = 1 << 16;  // read at once: half a megabyte of entries

bool is_there(PageState state) { return state != PageState::Absent; }

}  // namespace

ProcessMemory::ProcessMemory(pid_t pid, std::span<const MappedRange> map) : pid_(pid), map_(map), page_map_(pid) {}

std::size_t ProcessMemory::read_all(std::uint64_t address, std::span<std::uint8_t> out) const {
  std::size_t done = 0;
  // A read ends at the first unmapped page; the bytes before it count.
  while (done < out.size()) {
    const iovec to{out.data() + done, out.size() - done};
    const iovec from{reinterpret_cast<void*>(address + done), out.size() - done};
    const ssize_t got = ::process_vm_readv(pid_, &to, 1, &from, 1, 0);
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

const MappedRange* ProcessMemory::mapping_from(std::uint64_t address) {
  if (last_ >= map_.size() || address < map_[last_].range.start || map_[last_].range.end <= address) {
    const auto next = std::upper_bound(map_.begin(), map_.end(), address,
                                       [](std::uint64_t at, const MappedRange& one) { return at < one.range.end; });
    last_ = static_cast<std::size_t>(next - map_.begin());
  }
  return last_ < map_.size() ? &map_[last_] : nullptr;
}

// All of it in one mapping without a file behind it: a page that isn't there holds zeros.
bool ProcessMemory::is_private_memory(const AddressRange& range) {
  const MappedRange* const mapped = mapping_from(range.start);
  if (mapped == nullptr || range.start < mapped->range.start || mapped->range.end < range.end) return false;
  return mapped->readable && !mapped->shared && (mapped->name.empty() || mapped->name.front() == '[');
}

std::uint64_t ProcessMemory::absent_bytes(const AddressRange& range) {
  const std::uint64_t first = (range.start + kPage - 1) / kPage;
  const std::uint64_t end = range.end / kPage;
  if (end <= first || !is_private_memory(range)) return 0;
  std::uint64_t absent = 0;
  for (std::uint64_t page = first; page < end;) {
    const std::span<const PageState> states = page_map_.states(page, std::min(end - page, kMostPages));
    absent += static_cast<std::uint64_t>(std::count_if(states.begin(), states.end(), [](PageState state) {
      return state == PageState::Absent || state == PageState::Swapped;
    }));
    page += states.size();
  }
  return absent * kPage;
}

std::size_t ProcessMemory::bytes_before_left_out(std::uint64_t address, std::size_t bytes) const {
  const auto next = std::upper_bound(left_out_.begin(), left_out_.end(), address,
                                     [](std::uint64_t at, const AddressRange& one) { return at < one.end; });
  if (next == left_out_.end()) return bytes;
  return std::min<std::uint64_t>(bytes, std::max(next->start, address) - address);
}

// Mapping by mapping: a range may lie in two neighbours, and each is private memory or not for itself.
std::size_t ProcessMemory::read(std::uint64_t address, std::span<std::uint8_t> out) {
  out = out.first(bytes_before_left_out(address, out.size()));
  std::size_t done = 0;
  while (done < out.size()) {
    const std::uint64_t start = address + done;
    std::uint64_t bytes = out.size() - done;
    if (const MappedRange* const mapped = mapping_from(start); mapped != nullptr) {
      const std::uint64_t stop = mapped->range.start > start ? mapped->range.start : mapped->range.end;
      bytes = std::min(bytes, stop - start);
    }
    const std::size_t got = read_in_mapping(start, out.subspan(done, bytes));
    done += got;
    if (got < bytes) break;
  }
  return done;
}

// A read of one page checks first, too. The read would make the page present, and the program can see that: a page that
// is registered with userfaultfd later would never fault.
std::size_t ProcessMemory::read_in_mapping(std::uint64_t address, std::span<std::uint8_t> out) {
  const std::uint64_t first = address / kPage;
  const std::uint64_t pages = (address + out.size() + kPage - 1) / kPage - first;
  if (!is_private_memory({address, address + out.size()})) return read_all(address, out);
  std::array<PageState, kFewPages> few;
  std::span<const PageState> states;
  if (pages < kFewPages) {
    for (std::uint64_t page = 0; page < pages; ++page) few[page] = page_map_.kept_state(first + page);
    states = std::span(few).first(pages);
  } else {
    states = page_map_.states(first, pages);
  }
  // Runs of pages that are there, and of pages that aren't.
  std::size_t done = 0;
  for (std::uint64_t page = 0; page < pages;) {
    const bool there = is_there(states[page]);
    std::uint64_t end = page + 1;
    while (end < pages && is_there(states[end]) == there) ++end;
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
