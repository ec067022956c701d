// The executable and libraries of another process, as its own loader lists them, read from its memory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tare::core {

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
  std::uint64_t eh_frame_header = 0;  // 0: it has no table for unwinding
  std::uint64_t symbols = 0;
  std::uint64_t strings = 0;
  std::uint64_t gnu_hash = 0;
  std::uint64_t debug = 0;  // of the executable: the address of DT_DEBUG's value
  std::string soname;
};

class LoadedObjects {
 public:
  // Empty where the process has no loader (a static program), or where the loader hasn't finished.
  static std::optional<LoadedObjects> of(pid_t pid);

  const std::vector<LoadedObject>& all() const { return objects_; }
  const LoadedObject* around(std::uint64_t address) const;
  const LoadedObject* loader() const { return around(loader_base_); }
  // The first object that defines a function, in the order in which references are bound; nullptr: none.
  const LoadedObject* defining(const std::string& symbol) const;
  // Its address in the first object that defines it; 0: none.
  std::uint64_t address_of(const std::string& symbol) const;
  std::uint64_t address_in(const LoadedObject& object, const std::string& symbol) const;

 private:
  explicit LoadedObjects(pid_t pid) : pid_(pid) {}

  pid_t pid_;
  std::uint64_t loader_base_ = 0;
  std::vector<LoadedObject> objects_;
};

}  // namespace tare::core
