// Reads a perf map line by line: see perf_map.h.
// SPDX-License-Identifier: Apache-2.0
#include "core/drain/generated_code/perf_map.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "trace/base/file_bytes.h"
#include "trace/file/dictionary_codec.h"

namespace tare::core {

using namespace trace;

namespace {

// Takes a hexadecimal number and the blank after it from the front of `line`.
std::optional<std::uint64_t> take_number(std::string_view& line) {
  if (line.starts_with("0x")) line.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value, 16);
  const auto digits = static_cast<std::size_t>(end - line.data());
  if (error != std::errc{} || digits == line.size() || line[digits] != ' ') return std::nullopt;
  line.remove_prefix(digits + 1);
  return value;
}

// Takes ":NUMBER" from the end of `text`.
std::optional<std::uint32_t> take_last_number(std::string_view& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon + 1 == text.size()) return std::nullopt;
  std::uint32_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data() + colon + 1, end, value);
  if (error != std::errc{} || read != end) return std::nullopt;
  text = text.substr(0, colon);
  return value;
}

// "*parse /srv/app.js:12:9": a mark of the compiler, the function, the file, the line and column of its definition.
GivenFrame javascript_frame(std::string_view name) {
  GivenFrame frame;
  if (!name.empty() && std::string_view("*~^+").find(name.front()) != std::string_view::npos) name.remove_prefix(1);
  std::string_view place = name;
  const auto column = take_last_number(place);
  const auto line = column ? take_last_number(place) : std::nullopt;
  const std::size_t blank = place.find(' ');
  if (!line || blank == std::string_view::npos) {
    frame.function = name;
    return frame;
  }
  frame.function = blank == 0 ? "(anonymous)" : place.substr(0, blank);
  frame.file = place.substr(blank + 1);
  if (frame.file.starts_with("file://")) frame.file.erase(0, 7);
  frame.line = *line;
  return frame;
}

}  // namespace

std::optional<GeneratedCode> parse_perf_map_line(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  GeneratedCode code;
  const auto start = take_number(line);
  const auto bytes = start ? take_number(line) : std::nullopt;
  if (!bytes || *bytes == 0 || line.empty()) return std::nullopt;
  code.start = *start;
  code.bytes = std::min(*bytes, ~std::uint64_t{0} - *start);
  code.name = line;
  return code;
}

GivenFrame frame_of_generated(std::string_view name) {
  GivenFrame frame;
  if (name.starts_with("JS:")) {
    frame = javascript_frame(name.substr(3));
  } else if (const std::size_t colon = name.rfind(':'); name.starts_with("py::") && colon > 4) {
    frame.function = name.substr(4, colon - 4);
    frame.file = name.substr(colon + 1);
  } else {
    frame.function = name;
  }
  frame.function.resize(std::min(frame.function.size(), kMaxFrameText));
  frame.file.resize(std::min(frame.file.size(), kMaxFrameText));
  return frame;
}

GeneratedNames::GeneratedNames(const Dictionary& dictionary) {
  auto given = dictionary.given_frames.begin();
  for (std::uint32_t row = 0; row < dictionary.rows.size(); ++row) {
    if (row_module(dictionary.rows[row]) != kNoModule) continue;
    while (given != dictionary.given_frames.end() && index(given->row) < row) ++given;
    if (given != dictionary.given_frames.end() && index(given->row) == row) continue;
    rows_.push_back({row_address(dictionary.rows[row]) - 1, RowId{row}});
  }
  std::ranges::sort(rows_, {}, &Row::address);
}

std::size_t GeneratedNames::position_of(std::uint64_t address) const {
  return static_cast<std::size_t>(std::ranges::lower_bound(rows_, address, {}, &Row::address) - rows_.begin());
}

// A range that contains the position behind its begin becomes two.
void GeneratedNames::cut_at(std::size_t position) {
  auto range = named_.lower_bound(position);
  if (range == named_.begin()) return;
  --range;
  if (range->second.end <= position) return;
  named_.emplace(position, range->second);
  range->second.end = position;
}

void GeneratedNames::add(const GeneratedCode& code) {
  constexpr std::size_t kMostBytes = 1024;  // one line may name each of 100,000 rows
  const std::size_t first = position_of(code.start);
  const std::size_t end = position_of(code.start + code.bytes);
  if (first == end) return;
  cut_at(first);
  cut_at(end);
  named_.erase(named_.lower_bound(first), named_.lower_bound(end));
  named_.emplace(first, Named{end, std::string(code.name.substr(0, kMostBytes))});
}

std::size_t GeneratedNames::add_to(Dictionary& dictionary) const {
  const std::size_t before = dictionary.given_frames.size();
  for (const auto& [first, named] : named_) {
    GivenFrame frame = frame_of_generated(named.name);
    for (std::size_t position = first; position < named.end; ++position) {
      frame.row = rows_[position].row;
      dictionary.given_frames.push_back(frame);
    }
  }
  return dictionary.given_frames.size() - before;
}

int open_perf_file(const std::string& path, std::uint32_t owner, std::uint64_t start_realtime_ns, PerfMapUse& use) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) {
    use = errno == ELOOP ? PerfMapUse::Foreign : PerfMapUse::Absent;
    return -1;
  }
  struct stat facts = {};
  const bool has_facts = ::fstat(fd, &facts) == 0;
  const std::uint64_t written_ns = static_cast<std::uint64_t>(facts.st_mtim.tv_sec) * 1'000'000'000 +
                                   static_cast<std::uint64_t>(facts.st_mtim.tv_nsec);
  // The kernel stamps files by a clock that lags by up to a tick.
  constexpr std::uint64_t kTickNs = 10'000'000;
  if (!has_facts) {
    use = PerfMapUse::Absent;
  } else if (!S_ISREG(facts.st_mode) || (facts.st_uid != owner && facts.st_uid != 0)) {
    use = PerfMapUse::Foreign;
  } else if (written_ns + kTickNs < start_realtime_ns) {
    use = PerfMapUse::Stale;
  } else if (static_cast<std::uint64_t>(facts.st_size) > kMaxPerfMapBytes) {
    use = PerfMapUse::TooLarge;
  } else {
    use = PerfMapUse::Used;
    return fd;
  }
  ::close(fd);
  return -1;
}

PerfMapUse read_perf_map(const std::string& path, std::uint32_t owner, std::uint64_t start_realtime_ns,
                         GeneratedNames& names) {
  constexpr std::size_t kPiece = 1 << 20;  // longer lines are no names
  PerfMapUse use = PerfMapUse::Absent;
  const int fd = open_perf_file(path, owner, start_realtime_ns, use);
  if (fd < 0) return use;
  struct Closing {
    int fd;
    ~Closing() { ::close(fd); }
  } const closing{fd};

  std::string text;
  std::uint64_t offset = 0;
  while (offset < kMaxPerfMapBytes) {
    const std::size_t kept = text.size();
    text.resize(kept + kPiece);
    const std::int64_t got = read_at(fd, text.data() + kept, kPiece, offset);
    text.resize(kept + (got > 0 ? static_cast<std::size_t>(got) : 0));
    const bool is_last = got < static_cast<std::int64_t>(kPiece);
    offset += kPiece;
    std::string_view rest = text;
    for (std::size_t end; (end = rest.find('\n')) != std::string_view::npos; rest.remove_prefix(end + 1)) {
      if (const auto code = parse_perf_map_line(rest.substr(0, end))) names.add(*code);
    }
    if (is_last) {
      if (const auto code = parse_perf_map_line(rest)) names.add(*code);
      break;
    }
    text.erase(0, text.size() - rest.size());
    if (text.size() > kPiece) text.clear();
  }
  return PerfMapUse::Used;
}

}  // namespace tare::core
