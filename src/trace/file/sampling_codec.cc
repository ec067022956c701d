// Five numbers: see sampling_codec.h.
// SPDX-License-Identifier: Apache-2.0
#include "trace/file/sampling_codec.h"

#include "trace/base/byte_stream.h"

namespace tare::trace {

std::vector<std::uint8_t> encode_sampling(const SamplingUse& use) {
  ByteWriter bytes;
  for (const std::uint64_t number : {std::uint64_t{use.doublings}, static_cast<std::uint64_t>(use.stopped_by),
                                     use.stopped_after_ns, use.recorder_cpu_ns, use.process_cpu_ns}) {
    bytes.varint(number);
  }
  return bytes.bytes();
}

std::optional<SamplingUse> decode_sampling(std::span<const std::uint8_t> bytes) {
  ByteReader reader(bytes);
  SamplingUse use;
  const std::uint64_t doublings = reader.varint();
  const std::uint64_t limit = reader.varint();
  for (std::uint64_t* number : {&use.stopped_after_ns, &use.recorder_cpu_ns, &use.process_cpu_ns}) {
    *number = reader.varint();
  }
  const bool is_known = doublings <= kMostDoublings && limit <= static_cast<std::uint64_t>(kLastSamplingLimit);
  if (reader.failed() || !is_known) return std::nullopt;
  use.doublings = static_cast<std::uint32_t>(doublings);
  use.stopped_by = static_cast<SamplingLimit>(limit);
  return use;
}

}  // namespace tare::trace
