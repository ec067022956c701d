// One thread of a script: its place in the text, its blocks and its digest; and what all operations use.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dangerous {

constexpr size_t kSlots = 16;
constexpr size_t kStackBytes = 1 << 20;  // four blocks within each other, each 50 frames deep, need a tenth
constexpr size_t kPageBytes = 4096;

struct Slot {
  unsigned char* bytes = nullptr;
  size_t size_bytes = 0;
};

struct Run {
  const char* at;
  bool is_alone;  // the process has no other thread while this one performs its block
  Slot slots[kSlots];
  uint64_t digest = 1469598103934665603u;
};

inline void note(Run& run, uint64_t value) { run.digest = (run.digest ^ value) * 1099511628211u; }
inline void note(Run& run, long value) { note(run, static_cast<uint64_t>(value)); }
inline void note(Run& run, int value) { note(run, static_cast<uint64_t>(value)); }
inline void note(Run& run, bool value) { note(run, static_cast<uint64_t>(value)); }

/// Performs the block at run.at, if there is one, and leaves run.at behind it.
void perform_block(Run& run);
void skip_block(Run& run);
void drop(Run& run, Slot& slot);

extern char* program_path;

/// Some calls use what the whole process has once: the loader's and the C library's locks, descriptors, the
/// environment. A fork must not catch them half done, as the child would wait for a lock that nobody holds; who closes
/// all descriptors must not close theirs.
class ProcessUse {
 public:
  ProcessUse();
  ~ProcessUse();
  ProcessUse(const ProcessUse&) = delete;
  ProcessUse& operator=(const ProcessUse&) = delete;
};
/// Nobody else uses it meanwhile.
class ProcessChange {
 public:
  ProcessChange();
  ~ProcessChange();
  ProcessChange(const ProcessChange&) = delete;
  ProcessChange& operator=(const ProcessChange&) = delete;
};

}  // namespace dangerous
