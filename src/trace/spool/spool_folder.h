// The folder of a recording that its launcher left behind, with checks of a path that was read from a file.
//
// A trace names its spool's path, and anybody can write a trace. So a folder counts as a recording's only if it belongs
// to the caller, is reached without a link, and holds the control file of a launcher. In it, only files with the names
// of a recording's files are ever deleted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tare::trace {

class SpoolFolder {
 public:
  static constexpr std::string_view kPrefix = "tare-";  // of a folder's name
  struct Contents {
    std::uint64_t bytes = 0;  // that its files take up
    std::uint32_t spools = 0;
  };

  // Nothing where the folder of this file is no recording's, or isn't the caller's own.
  static std::optional<SpoolFolder> around(const std::string& spool_path);
  SpoolFolder(SpoolFolder&& other) noexcept;
  SpoolFolder& operator=(SpoolFolder&&) = delete;
  ~SpoolFolder();

  // A regular file of this name that may be a spool.
  bool has_spool(const std::string& name) const;
  // Its launcher lives: it holds a lock on the control file.
  bool launcher_lives() const;
  // Deletes the spool. If it was the last with contents, also deletes the recording's other files, and the folder if it
  // is empty then. A root's folder lies in another one, which goes with it.
  void remove_spool(const std::string& name);
  Contents contents() const;
  // Deletes all that the recording made, spools too, and the folder. False: something else lies there.
  bool remove_all();

 private:
  bool remove_made(const std::vector<std::string>& names);
  SpoolFolder(std::string path, int fd, int control_fd) : path_(std::move(path)), fd_(fd), control_fd_(control_fd) {}

  std::string path_;
  int fd_;
  int control_fd_;
};

// A spool that isn't complete: its recorder gives it its name when it is. See Spool::create().
bool is_unfinished_spool_name(std::string_view name);
// PID and N of PID.N.spool. False: another name.
bool parse_spool_name(const std::string& name, std::uint32_t& pid, std::uint32_t& image);

}  // namespace tare::trace
