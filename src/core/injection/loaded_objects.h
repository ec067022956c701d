// The executable and libraries of another process, as its own loader lists them, read from its memory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tare::core {

inline constexpr std::uint64_t kCodePageBytes = 4096;

// Copies memory of a process. False if not all of it can be read.
bool read_remote(pid_t pid, std::uint64_t address, void* out, std::size_t bytes);

template <typename T>
std::optional<T> read_remote_value(pid_t pid, std::uint64_t address) {
  T value;
  if (!read_remote(pid, address, &value, sizeof(value))) return std::nullopt;
  return value;
}

struct LoadedObject {
  std::uint64_t bias = 0;
  std::uint64_t start = 0;  // of its segments
  std::uint64_t end = 0;
  std::uint64_t code_end = 0;         // of the executable segment in front of the longest unused rest of a page
  std::uint64_t eh_frame_header = 0;  // 0: it has no table for unwinding
  std::uint64_t symbols = 0;
  std::uint64_t strings = 0;
  std::uint64_t gnu_hash = 0;
  std::uint64_t debug = 0;  // of the executable: the address of DT_DEBUG's value
  std::string soname;
};

// Of the kernel's list of a program's start (/proc/PID/auxv).
struct ProgramStart {
  std::uint64_t headers = 0;  // the executable's segments
  std::uint64_t count = 0;
  std::uint64_t loader = 0;
  std::uint64_t vdso = 0;
};

class LoadedObjects {
 public:
  // Empty where the process has no loader (a static program), or where the loader hasn't finished.
  static std::optional<LoadedObjects> of(pid_t pid);
  // After `most_reads`, everything else is unreadable: a process can link its tables to circles, or to long chains.
  static std::optional<LoadedObjects> of(pid_t pid, const ProgramStart& start, std::size_t most_reads = kMostReads);
  // The first object is the executable.
  LoadedObjects(pid_t pid, std::uint64_t loader_base, std::vector<LoadedObject> objects)
      : pid_(pid), loader_base_(loader_base), objects_(std::move(objects)) {}

  const std::vector<LoadedObject>& all() const { return objects_; }
  const LoadedObject* around(std::uint64_t address) const;
  const LoadedObject* loader() const { return around(loader_base_); }
  // The first object that defines a function, in the order in which references are bound; nullptr: none.
  const LoadedObject* defining(const std::string& symbol) const;
  // Its address in the first object that defines it; 0: none.
  std::uint64_t address_of(const std::string& symbol) const;
  std::uint64_t address_in(const LoadedObject& object, const std::string& symbol) const;

 private:
  // About 2 s.
  static constexpr std::size_t kMostReads = 4'000'000;

  bool read(std::uint64_t address, void* out, std::size_t bytes) const;
  template <typename T>
  std::optional<T> read_value(std::uint64_t address) const {
    T value;
    if (!read(address, &value, sizeof(value))) return std::nullopt;
    return value;
  }
  std::string read_text(std::uint64_t address, std::size_t most) const;
  std::optional<LoadedObject> object_of(std::uint64_t headers, std::size_t count, std::uint64_t bias) const;
  std::optional<LoadedObject> object_at_header(std::uint64_t base) const;
  void read_dynamic_section(std::uint64_t at, LoadedObject& object) const;
  std::uint64_t bias_of_executable(const ProgramStart& start) const;

  pid_t pid_;
  std::uint64_t loader_base_ = 0;
  std::vector<LoadedObject> objects_;
  mutable std::size_t reads_left_ = kMostReads;
};

}  // namespace tare::core
