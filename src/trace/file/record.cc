// Checksum of records: XXH64 of the payload, seeded with the header's fields.
#include "trace/file/record.h"

#include "trace/base/checksum.h"

namespace tare::trace {

std::uint64_t record_checksum(const RecordHeader& header, std::span<const std::uint8_t> payload) {
  return xxh64(payload, header.type | std::uint64_t{header.flags} << 16 | std::uint64_t{header.length} << 32);
}

}  // namespace tare::trace
