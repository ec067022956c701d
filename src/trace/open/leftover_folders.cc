// Looks for folders of recordings: see leftover_folders.h.
#include "trace/open/leftover_folders.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "trace/spool/spool_folder.h"

namespace tare::trace {
namespace {

namespace fs = std::filesystem;

// Root's recordings lie one folder deeper: see SpoolDirectory::create().
constexpr int kDeepest = 2;

void search_folder(const fs::path& parent, int depth, std::vector<LeftoverFolder>& found) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    if (!entry.path().filename().string().starts_with(SpoolFolder::kPrefix)) continue;
    if (entry.symlink_status(ignored).type() != fs::file_type::directory) continue;
    if (const auto folder = SpoolFolder::around(entry.path().string() + "/")) {
      const SpoolFolder::Contents contents = folder->contents();
      found.push_back({entry.path().string(), contents.bytes, contents.spools, folder->launcher_lives()});
    } else if (depth < kDeepest) {
      search_folder(entry.path(), depth + 1, found);
    }
  }
}

}  // namespace

std::vector<LeftoverFolder> find_leftover_folders(const std::vector<std::string>& parents) {
  std::vector<LeftoverFolder> found;
  for (const std::string& parent : parents) search_folder(parent, 1, found);
  const auto path = [](const LeftoverFolder& folder) -> const std::string& { return folder.path; };
  std::ranges::sort(found, {}, path);
  const auto repeated = std::ranges::unique(found, {}, path);
  found.erase(repeated.begin(), repeated.end());
  return found;
}

bool remove_leftover_folder(const std::string& path) {
  std::optional<SpoolFolder> folder = SpoolFolder::around(path + "/");
  return folder && !folder->launcher_lives() && folder->remove_all();
}

}  // namespace tare::trace
