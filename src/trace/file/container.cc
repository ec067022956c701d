// Finding the members of a container: see container.h.
// SPDX-License-Identifier: Apache-2.0
#include "trace/file/container.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "trace/base/file_bytes.h"
#include "trace/file/container_records.h"
#include "trace/file/record.h"

namespace tare::trace {

namespace {

class File {
 public:
  explicit File(const std::string& path) : fd_(open_regular(path.c_str())) {
    struct stat facts = {};
    if (fd_ >= 0 && ::fstat(fd_, &facts) == 0) bytes_ = static_cast<std::uint64_t>(facts.st_size);
  }
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  explicit operator bool() const { return fd_ >= 0; }
  std::uint64_t bytes() const { return bytes_; }
  bool read(std::uint64_t offset, std::span<std::uint8_t> to) const {
    return read_at(fd_, to.data(), to.size(), offset) == static_cast<std::int64_t>(to.size());
  }

 private:
  int fd_;
  std::uint64_t bytes_ = 0;
};

Error damaged(const std::string& path, std::uint64_t offset, const std::string& what) {
  return {ErrorKind::Corrupt, path + " is damaged at offset " + std::to_string(offset) + ": " + what +
                                  "; the traces before that can be read"};
}

bool is_member_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.';
  };
  return !name.empty() && name.size() <= kMostNameBytes && std::all_of(name.begin(), name.end(), allowed);
}

enum class Found : std::uint8_t { Record, End, Damage };

// A record of the container's own, its payload in `payload`. `most`: the limit of its kind.
Found read_record(const File& file, std::uint64_t offset, RecordHeader& header, std::vector<std::uint8_t>& payload,
                  const char*& damage) {
  std::uint8_t bytes[kRecordHeaderBytes];
  if (offset + sizeof bytes > file.bytes() || !file.read(offset, bytes)) return Found::End;
  ByteReader reader(bytes);
  const std::uint32_t type_and_flags = reader.fixed32();
  header.type = static_cast<std::uint16_t>(type_and_flags);
  header.flags = static_cast<std::uint16_t>(type_and_flags >> 16);
  header.length = reader.fixed32();
  header.checksum = reader.fixed64();
  const bool is_directory = header.type == static_cast<std::uint16_t>(ContainerRecord::Directory);
  if (header.length > (is_directory ? kMaxRecordBytes : kMostMemberBytes)) {
    damage = "a record has an impossible length";
    return Found::Damage;
  }
  if (offset + sizeof bytes + header.length > file.bytes()) return Found::End;
  payload.resize(header.length);
  if (!file.read(offset + sizeof bytes, payload)) return Found::End;
  if (record_checksum(header, payload) == header.checksum) return Found::Record;
  damage = "the checksum of a record doesn't match";
  return Found::Damage;
}

// Nothing where it isn't a directory that fits the file: then the members are searched for.
bool read_directory(const File& file, Container& container) {
  std::uint8_t tail[kTrailerBytes];
  if (file.bytes() < kFileHeaderBytes + sizeof tail || !file.read(file.bytes() - sizeof tail, tail)) return false;
  if (std::memcmp(tail + 8, kContainerEndMagic, sizeof kContainerEndMagic) != 0) return false;
  const std::uint64_t at = ByteReader(tail).fixed64();
  if (at < kFileHeaderBytes || at > file.bytes() - sizeof tail) return false;
  RecordHeader header;
  std::vector<std::uint8_t> payload;
  const char* damage = nullptr;
  if (read_record(file, at, header, payload, damage) != Found::Record) return false;
  if (header.type != static_cast<std::uint16_t>(ContainerRecord::Directory)) return false;
  ByteReader reader(payload);
  const std::uint64_t count = reader.varint();
  std::uint64_t end = kFileHeaderBytes;
  std::vector<ContainerMember> members;
  for (std::uint64_t i = 0; i < count; ++i) {
    ContainerMember member;
    member.name = reader.text();
    const std::uint64_t gap = reader.varint();
    member.bytes = reader.varint();
    member.parent_trace = reader.text();
    if (reader.failed() || !is_member_name(member.name) || gap > at - end || member.bytes > at - end - gap)
      return false;
    member.offset = end + gap;
    end = member.offset + member.bytes;
    members.push_back(std::move(member));
  }
  if (!reader.at_end()) return false;
  container.members = std::move(members);
  container.finished = true;
  return true;
}

void search_members(const std::string& path, const File& file, std::uint64_t offset, Container& container) {
  RecordHeader header;
  std::vector<std::uint8_t> payload;
  while (true) {
    const char* damage = nullptr;
    const Found found = read_record(file, offset, header, payload, damage);
    if (found == Found::Damage) container.damage = damaged(path, offset, damage);
    if (found != Found::Record) return;
    const std::uint64_t end = offset + kRecordHeaderBytes + header.length;
    if (header.type == static_cast<std::uint16_t>(ContainerRecord::Member)) {
      ByteReader reader(payload);
      ContainerMember member{reader.text(), end, reader.varint(), {}};
      if (reader.failed() || !is_member_name(member.name)) {
        container.damage = damaged(path, offset, "the record of a member can't be read");
        return;
      }
      if (member.bytes > file.bytes() - end) return;  // cut off
      offset = end + member.bytes;
      container.members.push_back(std::move(member));
    } else if ((header.flags & kRecordSkippable) != 0 ||
               header.type == static_cast<std::uint16_t>(ContainerRecord::Directory)) {
      offset = end;
    } else {
      container.damage = damaged(path, offset, "it holds a record that a newer version of tare wrote");
      return;
    }
  }
}

}  // namespace

bool is_container(const std::string& path) {
  const File file(path);
  std::uint8_t magic[sizeof kContainerMagic];
  return file && file.read(0, magic) && std::memcmp(magic, kContainerMagic, sizeof magic) == 0;
}

Result<Container> read_container(const std::string& path) {
  const File file(path);
  if (!file) return unreadable(path);
  std::uint8_t bytes[kFileHeaderBytes];
  if (!file.read(0, bytes) || std::memcmp(bytes, kContainerMagic, sizeof kContainerMagic) != 0) {
    return Error{ErrorKind::NotATrace, path + " isn't a container of traces"};
  }
  ByteReader reader({bytes + sizeof kContainerMagic, 8});
  const std::uint32_t version = reader.fixed32();
  const std::uint32_t header_bytes = reader.fixed32();
  if (version > kContainerVersion) {
    return Error{ErrorKind::NewerVersion, path + " was written by a newer version of tare (format " +
                                              std::to_string(version) + "); update tare to read it"};
  }
  if (version == 0 || header_bytes != kFileHeaderBytes)
    return damaged(path, sizeof kContainerMagic, "its header is invalid");
  Container container;
  RecordHeader header;
  std::vector<std::uint8_t> payload;
  const char* damage = nullptr;
  const Found found = read_record(file, kFileHeaderBytes, header, payload, damage);
  if (found == Found::Damage) return damaged(path, kFileHeaderBytes, damage);
  if (found == Found::End) return container;
  if (header.type == static_cast<std::uint16_t>(ContainerRecord::Start)) {
    ByteReader start(payload);
    container.spool_folder = start.text();
  }
  if (!read_directory(file, container)) search_members(path, file, kFileHeaderBytes, container);
  return container;
}

std::optional<MemberPath> member_path(const std::string& path) {
  const std::size_t colon = path.rfind(':');
  if (colon == std::string::npos || path.find('/', colon) != std::string::npos) return std::nullopt;
  struct stat facts;
  if (::lstat(path.c_str(), &facts) == 0) return std::nullopt;
  MemberPath found{path.substr(0, colon), path.substr(colon + 1)};
  if (!is_container(found.container)) return std::nullopt;
  return found;
}

Result<TracePlace> place_of_trace(const std::string& path) {
  const std::optional<MemberPath> wanted = member_path(path);
  if (!wanted) return TracePlace{path, 0, std::nullopt, {}};
  const Result<Container> container = read_container(wanted->container);
  if (!container) return container.error();
  for (const ContainerMember& member : container->members) {
    if (member.name == wanted->name)
      return TracePlace{wanted->container, member.offset, member.bytes, member.parent_trace};
  }
  const std::string advice = "; `tare report " + wanted->container + "` lists what there is";
  return Error{ErrorKind::NotATrace, wanted->container + " holds no trace of process " + wanted->name + advice};
}

}  // namespace tare::trace
