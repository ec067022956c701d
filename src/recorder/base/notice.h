// Messages for the user that no event can carry: a process isn't recorded, and the reason.
//
// To a launcher by a symbolic link in its folder, which needs neither a descriptor nor a block of the disk, the things
// that usually lack then; its summary counts them. Without a launcher, a line on standard error, if that is still the
// descriptor of the start: a program may have closed it and reused the number for a file of its data.
#pragma once

#include <cstdint>

namespace tare::recorder {

// Identifies descriptor 2 of the start: say() writes only to that. Once, at start.
void remember_standard_error();

// `text` and the line's end to standard error; nothing if it isn't the one remembered. `text` has room for one byte
// more.
void say(char* text, std::uint32_t length);

// A link that was left in a launcher's folder, until it's taken back.
class Notice {
 public:
  // "PROGRAM isn't recorded: REASON". False: the folder can't be reached or takes nothing.
  bool leave(const char* directory, const char* program, const char* reason);
  // Removes the link again, because the exec failed.
  void take_back();

 private:
  char path_[512] = {};
};

}  // namespace tare::recorder
