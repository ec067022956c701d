// Process facts as numbered fields. A reader skips unknown numbers, so that facts can be added without a new version.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "trace/base/byte_stream.h"
#include "trace/model/process_info.h"

namespace tare::trace {

// The contents of a Process or End record. Only the End record has totals.
struct ProcessRecord {
  ProcessInfo info;
  std::string spool_path;         // path of the undrained events if the launcher died
  std::uint64_t event_count = 0;  // Event records in all blocks
  std::uint64_t spool_events = 0;
  std::uint32_t thread_count = 0;
};

void encode_process(const ProcessRecord& record, ByteWriter& out);
// Overwrites the fields that are there. False: damaged.
bool decode_process(std::span<const std::uint8_t> payload, ProcessRecord& record);

}  // namespace tare::trace
