// Appending traces to a container: see container.h.
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "trace/file/container.h"
#include "trace/file/container_records.h"
#include "trace/file/record.h"

namespace tare::trace {

namespace {

void put_record(ByteWriter& out, ContainerRecord type, std::span<const std::uint8_t> payload, std::uint16_t flags = 0) {
  const RecordHeader header{static_cast<std::uint16_t>(type), flags, static_cast<std::uint32_t>(payload.size()), 0};
  out.fixed32(header.type | std::uint32_t{header.flags} << 16);
  out.fixed32(header.length);
  out.fixed64(record_checksum(header, payload));
  out.append(payload);
}

constexpr std::size_t kMostLatest = 4096;          // the launcher corrects entries of its latest 512 to 1,024 images
constexpr std::size_t kMostEntryBytes = 16 << 20;  // 1.4 million members
constexpr std::size_t kMostNames = std::size_t{1} << 20;

Error unwritable(const std::string& path, int error) {
  return {ErrorKind::Io,
          "cannot write " + path + ": " + std::strerror(error) + "; free some space or choose another place with -o"};
}

}  // namespace

Result<ContainerWriter> ContainerWriter::create(const std::string& path, const std::string& spool_folder) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return unwritable(path, errno);
  ContainerWriter writer(path, fd);
  writer.entries_end_ = kFileHeaderBytes;
  ByteWriter start;
  start.text(std::string_view(spool_folder).substr(0, kMostMemberBytes - kMaxVarintBytes));
  ByteWriter bytes;
  for (const char c : kContainerMagic) bytes.byte(static_cast<std::uint8_t>(c));
  bytes.fixed32(kContainerVersion);
  bytes.fixed32(kFileHeaderBytes);
  put_record(bytes, ContainerRecord::Start, start.bytes(), kRecordSkippable);
  if (Status status = writer.write(bytes.bytes()); !status) return status.error();
  return writer;
}

ContainerWriter::ContainerWriter(ContainerWriter&& other) noexcept { *this = std::move(other); }

ContainerWriter& ContainerWriter::operator=(ContainerWriter&& other) noexcept {
  if (this == &other) return *this;
  if (fd_ >= 0) ::close(fd_);
  path_ = std::move(other.path_);
  fd_ = std::exchange(other.fd_, -1);
  file_bytes_ = other.file_bytes_;
  count_ = other.count_;
  latest_ = std::move(other.latest_);
  entries_ = std::move(other.entries_);
  entries_end_ = other.entries_end_;
  has_directory_ = other.has_directory_;
  seen_ = std::move(other.seen_);
  failure_ = std::move(other.failure_);
  return *this;
}

ContainerWriter::~ContainerWriter() {
  if (fd_ >= 0) ::close(fd_);
}

// All of it, or none: a member of which the file holds a part would be in the way of the next.
Status ContainerWriter::write(std::span<const std::uint8_t> bytes) {
  if (failure_) return *failure_;
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::write(fd_, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      failure_ = unwritable(path_, count < 0 ? errno : ENOSPC);
      if (::ftruncate(fd_, static_cast<off_t>(file_bytes_)) != 0) return *failure_;  // readers cope with it
      return *failure_;
    }
    done += static_cast<std::size_t>(count);
  }
  file_bytes_ += done;
  return ok();
}

std::string ContainerWriter::free_name(const std::string& name) {
  if (seen_.count() >= kMostNames) return name + "." + std::to_string(count_ + 1);
  std::string wanted = name;
  for (int number = 2; !seen_.insert(wanted); ++number) wanted = name + "." + std::to_string(number);
  return wanted;
}

void ContainerWriter::settle_oldest() {
  const ContainerMember& member = latest_.front();
  if (has_directory_) {
    entries_.text(member.name);
    entries_.varint(member.offset - entries_end_);
    entries_.varint(member.bytes);
    entries_.text(member.parent_trace);
    entries_end_ = member.offset + member.bytes;
  }
  latest_.pop_front();
  if (entries_.bytes().size() <= kMostEntryBytes) return;
  has_directory_ = false;
  entries_ = {};
}

Result<std::string> ContainerWriter::append(const std::string& name, std::span<const std::uint8_t> trace) {
  ContainerMember member{free_name(name), 0, trace.size(), {}};
  ByteWriter payload;
  payload.text(member.name);
  payload.varint(trace.size());
  ByteWriter bytes;
  put_record(bytes, ContainerRecord::Member, payload.bytes());
  member.offset = file_bytes_ + bytes.bytes().size();
  bytes.append(trace);
  if (Status status = write(bytes.bytes()); !status) return status.error();
  ++count_;
  latest_.push_back(member);
  if (latest_.size() > kMostLatest) settle_oldest();
  return member.name;
}

void ContainerWriter::set_parent(const std::string& name, const std::string& parent_trace) {
  const auto found = std::find_if(latest_.rbegin(), latest_.rend(),
                                  [&](const ContainerMember& member) { return member.name == name; });
  if (found != latest_.rend()) found->parent_trace = parent_trace;
}

Status ContainerWriter::finish() {
  while (!latest_.empty()) settle_oldest();
  if (!has_directory_) return failure_ ? Status(*failure_) : ok();
  ByteWriter payload;
  payload.varint(count_);
  payload.append(entries_.bytes());
  const std::uint64_t at = file_bytes_;
  ByteWriter bytes;
  put_record(bytes, ContainerRecord::Directory, payload.bytes());
  bytes.fixed64(at);
  for (const char c : kContainerEndMagic) bytes.byte(static_cast<std::uint8_t>(c));
  return write(bytes.bytes());
}

}  // namespace tare::trace
