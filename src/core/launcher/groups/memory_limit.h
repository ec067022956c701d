// The memory limit of this process's control group, which holds for the program, the launcher and the spools together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tare::core {

// The lowest limit of the group and the groups around it, in bytes; nothing where there's none, or it can't be read.
std::optional<std::uint64_t> memory_limit_bytes();

// The same of a group named by the text of /proc/PID/cgroup, in the hierarchy mounted at `root` (/sys/fs/cgroup).
// Version 2 has memory.max in it, version 1 memory/.../memory.limit_in_bytes.
std::optional<std::uint64_t> memory_limit_bytes(std::string_view groups, const std::string& root);

// The limit of the spool of a process whose group has such a memory limit (0: none). 0: the recorder's default of 64
// MiB fits. The spool takes memory from the program: so it gets a sixty-fourth, but at least the amount that a program
// fills while the launcher wakes.
std::uint64_t spool_bytes_under(std::uint64_t limit_bytes);

// The same for this process's group, if the user doesn't request `wanted`.
std::uint64_t spool_bytes_within_limit(std::uint64_t wanted);

}  // namespace tare::core
