// Fuzzes the reader of containers: any bytes give a list of members that lie in the file, and each is a trace or an
// error.
//
// The first byte tells whether checksums are made to fit before reading, as in trace_reader.cc.
// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "trace/file/container.h"
#include "trace/file/container_records.h"
#include "trace/file/record.h"
#include "trace/open/open_trace.h"

namespace {

using namespace tare::trace;

void make_checksums_fit(std::vector<std::uint8_t>& bytes) {
  for (std::size_t at = kFileHeaderBytes; at + kRecordHeaderBytes <= bytes.size();) {
    RecordHeader header;
    std::memcpy(&header, bytes.data() + at, sizeof(header));
    if (header.length > bytes.size() - at - kRecordHeaderBytes) return;
    const std::span<const std::uint8_t> payload{bytes.data() + at + kRecordHeaderBytes, header.length};
    header.checksum = record_checksum(header, payload);
    std::memcpy(bytes.data() + at, &header, sizeof(header));
    at += kRecordHeaderBytes + header.length;
    if (header.type != static_cast<std::uint16_t>(ContainerRecord::Member)) continue;
    ByteReader reader(payload);
    reader.text();
    const std::uint64_t trace_bytes = reader.varint();
    if (trace_bytes > bytes.size() - at) return;
    at += trace_bytes;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::vector<std::uint8_t> bytes(data + 1, data + size);
  if ((data[0] & 1) != 0) make_checksums_fit(bytes);
  static const int file = ::memfd_create("container", MFD_CLOEXEC);
  if (::ftruncate(file, 0) != 0 || ::pwrite(file, bytes.data(), bytes.size(), 0) < 0) return 0;
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  const auto container = read_container(path);
  if (!container) return 0;
  int opened = 0;
  for (const ContainerMember& member : container->members) {
    if (member.offset > bytes.size() || member.bytes > bytes.size() - member.offset) std::abort();
    if (opened++ < 16) (void)open_trace(path + ":" + member.name);
  }
  return 0;
}
