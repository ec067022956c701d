// Folders that recordings left behind: their launchers were killed, or let programs go on without them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tare::trace {

struct LeftoverFolder {
  std::string path;
  std::uint64_t bytes = 0;  // that its files take up
  std::uint32_t spools = 0;
  bool launcher_lives = false;
};

// The caller's own, in these folders, by path. Folders without a launcher's mark aren't included.
std::vector<LeftoverFolder> find_leftover_folders(const std::vector<std::string>& parents);

// Deletes the files that a recording made in it, and then the folder if it is empty. False: it stays, for its launcher
// lives, something else lies there, or it's none of a recording.
bool remove_leftover_folder(const std::string& path);

}  // namespace tare::trace
