// The frame of a .tare file: its first bytes, and the header before every record. FORMAT.md describes it in prose.
#pragma once

#include <cstdint>
#include <span>

namespace tare::trace {

inline constexpr char kTraceMagic[8] = {'T', 'A', 'R', 'E', 'T', 'R', 'C', '\n'};
inline constexpr std::uint32_t kTraceVersion = 1;
inline constexpr std::uint32_t kFileHeaderBytes = 16;    // magic, version, length of this header
inline constexpr std::uint32_t kRecordHeaderBytes = 16;  // type, flags, length, checksum
inline constexpr std::uint32_t kMaxRecordBytes = 1u << 28;

enum class RecordType : std::uint16_t {
  Process = 1,
  Modules = 2,
  Rows = 3,
  Stacks = 4,
  Shapes = 5,
  Clock = 6,
  Events = 7,
  End = 8,
  Names = 9,    // skippable
  Moment = 10,  // skippable
  Live = 11,
  GivenFrames = 12,  // skippable
};

enum RecordFlags : std::uint16_t {
  kRecordSkippable = 1,  // a reader that doesn't have the type skips it
};

struct RecordHeader {
  std::uint16_t type = 0;
  std::uint16_t flags = 0;
  std::uint32_t length = 0;  // of the payload
  std::uint64_t checksum = 0;
};

// Covers the header's other fields too, so that a flipped length or type shows.
std::uint64_t record_checksum(const RecordHeader& header, std::span<const std::uint8_t> payload);

}  // namespace tare::trace
