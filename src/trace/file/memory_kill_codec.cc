// Numbers first, then the group: see memory_kill_codec.h.
#include "trace/file/memory_kill_codec.h"

#include "trace/base/byte_stream.h"

namespace tare::trace {

std::vector<std::uint8_t> encode_memory_kill(const MemoryKill& kill) {
  ByteWriter bytes;
  for (const std::uint64_t number :
       {std::uint64_t{kill.direct}, kill.kills_before, kill.kills_after, kill.deaths, kill.limit_bytes}) {
    bytes.varint(number);
  }
  bytes.append({reinterpret_cast<const std::uint8_t*>(kill.group.data()), kill.group.size()});
  return bytes.bytes();
}

std::optional<MemoryKill> decode_memory_kill(std::span<const std::uint8_t> bytes) {
  ByteReader reader(bytes);
  MemoryKill kill;
  kill.direct = reader.varint() != 0;
  for (std::uint64_t* number : {&kill.kills_before, &kill.kills_after, &kill.deaths, &kill.limit_bytes}) {
    *number = reader.varint();
  }
  if (reader.failed() || kill.kills_after <= kill.kills_before || kill.deaths == 0) return std::nullopt;
  const std::span<const std::uint8_t> group = reader.take(reader.remaining());
  kill.group.assign(reinterpret_cast<const char*>(group.data()), group.size());
  return kill;
}

}  // namespace tare::trace
