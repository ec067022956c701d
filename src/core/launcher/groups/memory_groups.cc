// Reads /proc/PID/cgroup and the files of control groups: see memory_groups.h.
#include "core/launcher/groups/memory_groups.h"

#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>

#include "trace/base/process_files.h"

namespace tare::core {
namespace {

constexpr std::size_t kMostParents = 16;
constexpr std::uint64_t kUnlimited = std::uint64_t{1} << 60;  // version 1 writes a number near 2^63 for none
constexpr std::uint64_t kExiting = 4;                         // PF_EXITING, of the flags in /proc/PID/stat

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  std::istringstream text(trace::read_kernel_file(path).value_or(""));
  for (std::string line; std::getline(text, line);) lines.push_back(std::move(line));
  return lines;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream text(line);
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(std::move(word));
  return words;
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || (end != text.data() + text.size() && *end != '\n')) return std::nullopt;
  return number;
}

std::optional<std::uint64_t> number_at(const std::string& path) {
  return number_of(trace::read_kernel_file(path).value_or(""));
}

// Of lines "NAME NUMBER".
std::optional<std::uint64_t> value_in(const std::string& path, std::string_view name) {
  const std::string text = trace::read_kernel_file(path).value_or("");
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at != 0 && text[at - 1] != '\n') || end >= text.size() || text[end] != ' ') continue;
    return number_of(std::string_view(text).substr(end + 1));
  }
  return std::nullopt;
}

bool has_word(const std::string& list, const std::string& word) {
  return ("," + list + ",").find("," + word + ",") != std::string::npos;
}

std::string unescaped(std::string text) {
  constexpr std::pair<std::string_view, char> kEscapes[] = {
      {"\\040", ' '}, {"\\011", '\t'}, {"\\012", '\n'}, {"\\134", '\\'}};
  for (const auto& [escape, character] : kEscapes) {
    for (std::size_t at = text.find(escape); at != std::string::npos; at = text.find(escape, at + 1))
      text.replace(at, escape.size(), 1, character);
  }
  return text;
}

const char* limit_file(int version) { return version == 2 ? "/memory.max" : "/memory.limit_in_bytes"; }

bool is_below(const std::string& folder, const std::string& top) {
  return folder == top || folder.starts_with(top == "/" ? top : top + "/");
}

}  // namespace

MemoryGroups::MemoryGroups(std::string root) : root_(std::move(root)) {
  for (const std::string& line : lines_of(root_ + "/proc/self/mountinfo")) {
    const std::size_t separator = line.find(" - ");
    if (separator == std::string::npos) continue;
    const std::vector<std::string> fields = words_of(line.substr(0, separator));
    const std::vector<std::string> kinds = words_of(line.substr(separator + 3));
    if (fields.size() < 5 || kinds.size() < 3) continue;
    const bool second = kinds[0] == "cgroup2";
    if (!second && (kinds[0] != "cgroup" || !has_word(kinds.back(), "memory"))) continue;
    mounts_.push_back({unescaped(fields[4]), unescaped(fields[3]), second ? 2 : 1});
  }
}

std::string MemoryGroups::path_of(pid_t pid, std::string_view name) const {
  return root_ + "/proc/" + std::to_string(pid) + "/" + std::string(name);
}

std::string MemoryGroups::folder_of(int version, const std::string& group) const {
  if (!group.starts_with('/') || group.starts_with("/..")) return {};  // of another namespace, which isn't mounted here
  for (const Mount& mount : mounts_) {
    if (mount.version != version) continue;
    const bool inner = mount.group != "/" && is_below(group, mount.group);
    std::string folder = mount.folder + (inner ? group.substr(mount.group.size()) : group);
    while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
    struct stat status{};
    if (::stat((root_ + folder).c_str(), &status) == 0 && S_ISDIR(status.st_mode)) return folder;
  }
  return {};
}

std::string MemoryGroups::of_process(pid_t pid) const {
  std::optional<std::string> first, second;
  for (const std::string& line : lines_of(path_of(pid, "cgroup"))) {  // "NUMBER:CONTROLLER,...:PATH"
    const std::size_t colon = line.find(':');
    const std::size_t next = colon == std::string::npos ? colon : line.find(':', colon + 1);
    if (next == std::string::npos) continue;
    const std::string controllers = line.substr(colon + 1, next - colon - 1);
    if (controllers.empty()) second = line.substr(next + 1);
    if (has_word(controllers, "memory")) first = line.substr(next + 1);
  }
  // "PID (NAME) STATE PARENT GROUP SESSION TTY TTY_GROUP FLAGS ...". Read after the group, which it held until then.
  const std::string stat = trace::read_kernel_file(path_of(pid, "stat")).value_or("");
  const std::size_t name_end = stat.rfind(") ");
  if (name_end == std::string::npos) return {};
  const std::vector<std::string> fields = words_of(stat.substr(name_end + 2));
  if (fields.size() < 7 || fields[0] == "Z" || (number_of(fields[6]).value_or(0) & kExiting) != 0) return {};
  if (first) {  // a hybrid system limits memory by version 1
    if (std::string folder = folder_of(1, *first); !folder.empty()) return folder;
  }
  return second ? folder_of(2, *second) : std::string();
}

const MemoryGroups::Mount* MemoryGroups::mount_of(const std::string& folder) const {
  const Mount* found = nullptr;  // the innermost: version 2 may lie in a folder of version 1's
  for (const Mount& mount : mounts_) {
    if (is_below(folder, mount.folder) && (found == nullptr || mount.folder.size() > found->folder.size()))
      found = &mount;
  }
  return found;
}

std::vector<std::string> MemoryGroups::with_parents(const std::string& folder) const {
  if (folder.empty()) return {};
  const Mount* const mount = mount_of(folder);
  if (mount == nullptr || mount->version != 2) return {folder};
  return limiting(folder, *mount);
}

std::vector<std::string> MemoryGroups::limiting(const std::string& folder, const Mount& mount) const {
  std::vector<std::string> chain{folder};
  while (chain.back() != mount.folder && chain.back().rfind('/') != std::string::npos && chain.size() < kMostParents) {
    chain.push_back(chain.back().substr(0, chain.back().rfind('/')));
  }
  return chain;
}

std::optional<KillCount> MemoryGroups::kills(const std::string& folder) const {
  const std::string path = root_ + folder;
  std::optional<std::uint64_t> count = value_in(path + "/memory.events", "oom_kill");
  if (!count) count = value_in(path + "/memory.oom_control", "oom_kill");
  struct stat status{};
  if (!count || ::stat(path.c_str(), &status) != 0) return std::nullopt;
  return KillCount{*count, status.st_ino};
}

std::optional<KillCount> MemoryGroups::machine_kills() const {
  const std::optional<std::uint64_t> count = value_in(root_ + "/proc/vmstat", "oom_kill");
  return count ? std::optional(KillCount{*count, 0}) : std::nullopt;
}

std::uint64_t MemoryGroups::limit_bytes(const std::string& folder) const {
  const Mount* const mount = folder.empty() ? nullptr : mount_of(folder);
  if (mount == nullptr) return 0;
  std::uint64_t lowest = kUnlimited;
  for (const std::string& group : limiting(folder, *mount)) {
    lowest = std::min(lowest, number_at(root_ + group + limit_file(mount->version)).value_or(kUnlimited));
  }
  return lowest == kUnlimited ? 0 : lowest;
}

std::optional<std::uint64_t> MemoryGroups::free_bytes(const std::string& folder) const {
  const Mount* const mount = folder.empty() ? nullptr : mount_of(folder);
  if (mount == nullptr) return std::nullopt;
  const bool second = mount->version == 2;
  std::optional<std::uint64_t> least;
  for (const std::string& group : limiting(folder, *mount)) {
    const std::string path = root_ + group;
    const std::uint64_t limit = number_at(path + limit_file(mount->version)).value_or(kUnlimited);
    const std::optional<std::uint64_t> charged =
        number_at(path + (second ? "/memory.current" : "/memory.usage_in_bytes"));
    if (limit >= kUnlimited || !charged) continue;
    std::uint64_t files = 0;
    for (const std::string_view list : {"inactive_file", "active_file"}) {
      files += value_in(path + "/memory.stat", second ? std::string(list) : "total_" + std::string(list)).value_or(0);
    }
    const std::uint64_t used = *charged - std::min(*charged, files);
    const std::uint64_t free = limit - std::min(limit, used);
    least = std::min(least.value_or(free), free);
  }
  return least;
}

bool MemoryGroups::is_dying(pid_t pid) const {
  for (const std::string& line : lines_of(path_of(pid, "status"))) {
    if (!line.starts_with("SigPnd:") && !line.starts_with("ShdPnd:")) continue;
    const std::vector<std::string> words = words_of(line);
    std::uint64_t pending = 0;
    if (words.size() < 2) continue;
    (void)std::from_chars(words[1].data(), words[1].data() + words[1].size(), pending, 16);
    if (((pending >> (SIGKILL - 1)) & 1) != 0) return true;
  }
  return false;
}

}  // namespace tare::core
