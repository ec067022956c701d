// The frame of a container: its own records, which have the header that a trace's records have.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tare::trace {

enum class ContainerRecord : std::uint16_t {
  Start = 1,      // skippable: the folder of the spools
  Member = 2,     // a name and a length; a trace of that length follows
  Directory = 3,  // all members; the trailer follows
};

inline constexpr char kContainerEndMagic[8] = {'T', 'A', 'R', 'E', 'E', 'N', 'D', '\n'};
inline constexpr std::uint32_t kTrailerBytes = 16;   // offset of the directory, magic
inline constexpr std::uint32_t kMostNameBytes = 64;  // of a member
inline constexpr std::uint32_t kMostMemberBytes = 8
                                                  << 10;  // of a record that is no directory: a path and a few numbers

}  // namespace tare::trace
