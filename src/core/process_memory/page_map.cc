// Reading the kernel's page map: see page_map.h.
#include "core/process_memory/page_map.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace tare::core {
namespace {

constexpr std::size_t kMostWindows = 1 << 16;  // 32 MiB for 128 GiB of memory

PageState state_of(std::uint64_t entry) {
  if ((entry & std::uint64_t{1} << 63) != 0) return PageState::Present;
  return (entry & std::uint64_t{1} << 62) != 0 ? PageState::Swapped : PageState::Absent;
}

}  // namespace

PageMap::PageMap(pid_t pid)
    : fd_(::open(("/proc/" + std::to_string(pid) + "/pagemap").c_str(), O_RDONLY | O_CLOEXEC)) {}

PageMap::~PageMap() {
  if (fd_ >= 0) ::close(fd_);
}

void PageMap::read_states(std::uint64_t first_page, std::span<PageState> out) {
  entries_.resize(out.size());
  ssize_t got = 0;
  if (fd_ >= 0) got = ::pread(fd_, entries_.data(), out.size() * 8, static_cast<off_t>(first_page * 8));
  const std::size_t known = got > 0 ? static_cast<std::size_t>(got) / 8 : 0;
  std::transform(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(known), out.begin(), state_of);
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(known), out.end(), PageState::Unknown);
}

std::span<const PageState> PageMap::states(std::uint64_t first_page, std::uint64_t pages) {
  states_.resize(pages);
  read_states(first_page, states_);
  return states_;
}

PageState PageMap::kept_state(std::uint64_t page) {
  const std::uint64_t number = page / kWindowPages;
  auto place = windows_.find(number);
  if (place == windows_.end()) {
    if (windows_.size() == kMostWindows) windows_.clear();
    place = windows_.emplace(number, Window{}).first;
    read_states(number * kWindowPages, place->second);
  }
  return place->second[page % kWindowPages];
}

}  // namespace tare::core
