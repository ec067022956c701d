// Reads a .tare file: see trace_reader.h.
#include "trace/file/trace_reader.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "trace/base/byte_stream.h"
#include "trace/base/file_bytes.h"
#include "trace/file/dictionary_codec.h"
#include "trace/file/moment_codec.h"
#include "trace/file/record.h"

namespace tare::trace {

namespace {

constexpr std::uint64_t kMaxClockPairs = 1 << 20;  // in one record

Error corrupt(const std::string& path, std::uint64_t offset, std::string what) {
  if (what == kExpandsTooFar) what += how_to_trust();
  return {ErrorKind::Corrupt, path + " is damaged at offset " + std::to_string(offset) + ": " + what +
                                  "; what was recorded before that is still shown, record again for the rest"};
}

Error newer(const std::string& path, const std::string& what) {
  return {ErrorKind::NewerVersion,
          path + " was written by a newer version of tare (" + what + "); update tare to read it"};
}

const char* decode_clock(std::span<const std::uint8_t> payload, std::vector<ClockPair>& pairs) {
  ByteReader reader(payload);
  const std::uint64_t count = reader.varint();
  if (count > kMaxClockPairs) return "a clock record has an impossible size";
  ClockPair pair{0, 0};
  for (std::uint64_t i = 0; i < count; ++i) {
    pair.stamp += static_cast<std::uint64_t>(unzigzag(reader.varint()));
    pair.monotonic_ns += static_cast<std::uint64_t>(unzigzag(reader.varint()));
    if (reader.failed()) return "a clock record is shorter than its count";
    pairs.push_back(pair);
  }
  return reader.at_end() ? nullptr : "a clock record is longer than its count";
}

RecordHeader parse_header(const std::uint8_t* bytes) {
  ByteReader reader({bytes, kRecordHeaderBytes});
  RecordHeader header;
  const std::uint32_t type_and_flags = reader.fixed32();
  header.type = static_cast<std::uint16_t>(type_and_flags);
  header.flags = static_cast<std::uint16_t>(type_and_flags >> 16);
  header.length = reader.fixed32();
  header.checksum = reader.fixed64();
  return header;
}

// Adds an intact record to the index. Returns nullptr or the error.
const char* add_record(const RecordHeader& header, std::uint64_t offset, std::span<const std::uint8_t> payload,
                       ExpansionBudget& budget, TraceIndex& index) {
  switch (static_cast<RecordType>(header.type)) {
    case RecordType::Process:
      return decode_process(payload, index.process) ? nullptr : "the facts of the process can't be read";
    case RecordType::Modules:
      return decode_modules(payload, budget, index.dictionary);
    case RecordType::Rows:
      return decode_rows(payload, budget, index.dictionary);
    case RecordType::Stacks:
      return decode_stacks(payload, budget, index.dictionary);
    case RecordType::Shapes:
      return decode_shapes(payload, budget, index.dictionary);
    case RecordType::Names:
      return decode_names(payload, budget, index.dictionary);
    case RecordType::GivenFrames:
      return decode_given_frames(payload, budget, index.dictionary);
    case RecordType::Clock:
      return decode_clock(payload, index.clock_pairs);
    case RecordType::Events: {
      BlockRef block{offset, header.length, {}};
      if (!EventBlockDecoder::read_header(payload, block.header)) return "an event block has a damaged header";
      if (block.header.shape_count > index.dictionary.shapes.size() ||
          block.header.stack_count > index.dictionary.stacks.size()) {
        return "an event block refers to dictionary entries that don't exist";
      }
      index.blocks.push_back(block);
      return nullptr;
    }
    case RecordType::Moment:
      index.moments.push_back({offset, header.length});
      return nullptr;
    case RecordType::Live:
      return decode_live(payload, budget, index.live);
    case RecordType::End:
      if (!decode_process(payload, index.process)) return "the facts of the process can't be read";
      index.ended = true;
      return nullptr;
  }
  return "";  // an unknown kind: the caller decides
}

bool known(std::uint16_t type) { return type >= 1 && type <= static_cast<std::uint16_t>(RecordType::GivenFrames); }

}  // namespace

Result<TraceFile> TraceFile::open(const std::string& path) {
  const Result<TracePlace> place = place_of_trace(path);
  if (!place) return place.error();
  return open(path, *place);
}

Result<TraceFile> TraceFile::open(const std::string& path, const TracePlace& place) {
  const int fd = ::open(place.file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return unreadable(path);
  TraceFile file(path, fd);
  struct stat status = {};
  if (::fstat(fd, &status) != 0) return unreadable(path);
  if (S_ISDIR(status.st_mode)) {
    return Error{ErrorKind::NotATrace, path + " is a directory, not a trace; name a .tare file in it"};
  }
  if (!S_ISREG(status.st_mode)) {
    return Error{ErrorKind::NotATrace, path + " is a pipe or a device, not a trace; name a file"};
  }
  file.file_bytes_ = static_cast<std::uint64_t>(status.st_size);
  if (place.bytes) {
    file.is_member_ = true;
    file.base_ = place.offset;
    file.file_bytes_ = *place.bytes;
    file.parent_trace_ = place.parent_trace;
  }
  std::uint8_t bytes[kFileHeaderBytes];
  const std::int64_t got = file.read(bytes, sizeof(bytes), 0);
  if (got < 0) return unreadable(path);
  if (got == static_cast<std::int64_t>(sizeof(bytes)) && !place.bytes &&
      std::memcmp(bytes, kContainerMagic, sizeof(kContainerMagic)) == 0) {
    return Error{ErrorKind::NotATrace, path + " holds the traces of several processes: `tare report " + path +
                                           "` lists them; name one as " + path + ":PID"};
  }
  if (got < static_cast<std::int64_t>(sizeof(bytes)) || std::memcmp(bytes, kTraceMagic, sizeof(kTraceMagic)) != 0) {
    return Error{ErrorKind::NotATrace, path + " is not a tare trace; make one with: tare run -o FILE -- COMMAND"};
  }
  ByteReader reader({bytes + sizeof(kTraceMagic), 8});
  const std::uint32_t version = reader.fixed32();
  const std::uint32_t header_bytes = reader.fixed32();
  if (version > kTraceVersion) return newer(path, "format " + std::to_string(version));
  if (version == 0 || header_bytes != kFileHeaderBytes) {
    return corrupt(path, sizeof(kTraceMagic), "the file header is invalid");
  }
  return file;
}

TraceFile::TraceFile(TraceFile&& other) noexcept { *this = std::move(other); }

TraceFile& TraceFile::operator=(TraceFile&& other) noexcept {
  if (this == &other) return *this;
  if (fd_ >= 0) ::close(fd_);
  path_ = std::move(other.path_);
  fd_ = std::exchange(other.fd_, -1);
  base_ = other.base_;
  file_bytes_ = other.file_bytes_;
  is_member_ = other.is_member_;
  parent_trace_ = std::move(other.parent_trace_);
  buffer_ = std::move(other.buffer_);
  return *this;
}

TraceFile::~TraceFile() {
  if (fd_ >= 0) ::close(fd_);
}

// Never beyond the trace's end: in a container another trace follows.
std::int64_t TraceFile::read(void* to, std::size_t count, std::uint64_t offset) const {
  if (is_member_) count = offset >= file_bytes_ ? 0 : std::min<std::uint64_t>(count, file_bytes_ - offset);
  return read_at(fd_, to, count, base_ + offset);
}

Result<TraceIndex> TraceFile::index() const {
  TraceIndex index;
  index.dictionary.stacks.push_back({kEmptyStack, RowId{0}});
  struct stat status;
  if (::fstat(fd_, &status) != 0) return unreadable(path_);
  const std::uint64_t file_bytes = is_member_ ? file_bytes_ : static_cast<std::uint64_t>(status.st_size);
  ExpansionBudget budget = ExpansionBudget::of_file(file_bytes);
  std::uint64_t offset = kFileHeaderBytes;
  while (!index.ended) {
    index.readable_bytes = offset;
    std::uint8_t bytes[kRecordHeaderBytes];
    const std::int64_t got = read(bytes, sizeof(bytes), offset);
    if (got < 0) return unreadable(path_);
    if (got < static_cast<std::int64_t>(sizeof(bytes))) {
      index.cut_off = got > 0;
      break;
    }
    const RecordHeader header = parse_header(bytes);
    const std::uint64_t end = offset + kRecordHeaderBytes + header.length;
    if (header.length > kMaxRecordBytes) {
      index.damage = corrupt(path_, offset, "a record has an impossible length");
      break;
    }
    if (end > file_bytes) {  // before anything is read or reserved on the length's word
      index.cut_off = true;
      break;
    }
    buffer_.resize(header.length);
    const std::int64_t payload_bytes = read(buffer_.data(), header.length, offset + kRecordHeaderBytes);
    if (payload_bytes < 0) return unreadable(path_);
    if (payload_bytes < static_cast<std::int64_t>(header.length)) {
      index.cut_off = true;
      break;
    }
    if (record_checksum(header, buffer_) != header.checksum) {
      index.damage = corrupt(path_, offset, "the checksum of a record doesn't match");
      break;
    }
    if (!known(header.type)) {
      if ((header.flags & kRecordSkippable) == 0) {
        return newer(path_, "record type " + std::to_string(header.type) + " at offset " + std::to_string(offset));
      }
    } else if (const char* damage = add_record(header, offset, buffer_, budget, index)) {
      index.damage = corrupt(path_, offset, damage);
      break;
    }
    offset = end;
    index.readable_bytes = offset;
  }
  if (index.process.info.fork && !parent_trace_.empty()) index.process.info.fork->parent_trace = parent_trace_;
  index.unpacked_bytes = budget.taken();
  // Names of generated code come last, for rows of the whole file.
  std::vector<GivenFrame>& given = index.dictionary.given_frames;
  if (!std::ranges::is_sorted(given, {}, &GivenFrame::row)) std::ranges::stable_sort(given, {}, &GivenFrame::row);
  return index;
}

std::optional<ProcessRecord> TraceFile::first_record() const {
  std::uint8_t bytes[kRecordHeaderBytes];
  if (read(bytes, sizeof(bytes), kFileHeaderBytes) != static_cast<std::int64_t>(sizeof(bytes))) return std::nullopt;
  const RecordHeader header = parse_header(bytes);
  const bool is_process = header.type == static_cast<std::uint16_t>(RecordType::Process);
  if (!is_process || header.length > kMaxRecordBytes || header.length > file_bytes_) return std::nullopt;
  std::span<const std::uint8_t> payload;
  if (!read_payload(kFileHeaderBytes, header.length, payload)) return std::nullopt;
  ProcessRecord record;
  if (record_checksum(header, payload) != header.checksum || !decode_process(payload, record)) return std::nullopt;
  return record;
}

Status TraceFile::read_payload(std::uint64_t offset, std::uint32_t length,
                               std::span<const std::uint8_t>& payload) const {
  buffer_.resize(kRecordHeaderBytes + length);
  const std::int64_t got = read(buffer_.data(), buffer_.size(), offset);
  if (got < 0) return unreadable(path_);
  if (got < static_cast<std::int64_t>(buffer_.size())) return corrupt(path_, offset, "the file became shorter");
  payload = std::span<const std::uint8_t>(buffer_).subspan(kRecordHeaderBytes);
  return ok();
}

// The pass before has checked the sums; the decoders trust nothing either way.
Status TraceFile::read_block(const BlockRef& block, const Dictionary& dictionary, EventBlockDecoder& decoder,
                             EventBuffer& out) const {
  std::span<const std::uint8_t> payload;
  if (Status status = read_payload(block.offset, block.length, payload); !status) return status;
  if (const char* damage = decoder.decode(payload, dictionary, out)) return corrupt(path_, block.offset, damage);
  return ok();
}

Status TraceFile::read_moment(const RecordRef& record, const Dictionary& dictionary, ExpansionBudget& budget,
                              std::vector<Moment>& moments) const {
  std::span<const std::uint8_t> payload;
  if (Status status = read_payload(record.offset, record.length, payload); !status) return status;
  if (const char* damage = decode_moment(payload, dictionary.shapes.size(), budget, moments))
    return corrupt(path_, record.offset, damage);
  return ok();
}

}  // namespace tare::trace
