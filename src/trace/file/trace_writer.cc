// Writes a .tare file: see trace_writer.h.
#include "trace/file/trace_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "trace/file/moment_codec.h"

namespace tare::trace {

namespace {

void append_fixed(std::vector<std::uint8_t>& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

Error io_error(const std::string& path, int error) {
  std::string advice = "check the path and its permissions";
  if (error == ENOSPC || error == EDQUOT) advice = "free some space or write elsewhere with -o";
  if (error == EMFILE || error == ENFILE) advice = "raise the limit on open files (ulimit -n)";
  if (error == EROFS || error == EACCES || error == EPERM) advice = "choose a writable place with -o";
  return {ErrorKind::Io, "cannot write the trace " + path + ": " + std::strerror(error) + "; " + advice};
}

}  // namespace

Result<TraceWriter> TraceWriter::create(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return io_error(path, errno);
  TraceWriter writer(path, fd);
  writer.put_file_header();
  if (Status status = writer.flush(); !status) {
    struct stat file;
    if (::fstat(fd, &file) == 0 && S_ISREG(file.st_mode)) ::unlink(path.c_str());  // of no use to anybody
    return status.error();
  }
  return writer;
}

TraceWriter TraceWriter::in_memory(const std::string& path) {
  TraceWriter writer(path, -1);
  writer.in_memory_ = true;
  writer.put_file_header();
  return writer;
}

void TraceWriter::put_file_header() {
  pending_.assign(std::begin(kTraceMagic), std::end(kTraceMagic));
  append_fixed(pending_, kTraceVersion, 4);
  append_fixed(pending_, kFileHeaderBytes, 4);
}

TraceWriter::TraceWriter(TraceWriter&& other) noexcept { *this = std::move(other); }

TraceWriter& TraceWriter::operator=(TraceWriter&& other) noexcept {
  if (this == &other) return *this;
  if (fd_ >= 0) ::close(fd_);
  path_ = std::move(other.path_);
  fd_ = std::exchange(other.fd_, -1);
  in_memory_ = other.in_memory_;
  pending_ = std::move(other.pending_);
  payload_ = std::move(other.payload_);
  written_ = other.written_;
  moment_bytes_ = other.moment_bytes_;
  file_bytes_ = other.file_bytes_;
  last_clock_stamp_ = other.last_clock_stamp_;
  failure_ = std::move(other.failure_);
  make_room_ = std::move(other.make_room_);
  return *this;
}

TraceWriter::~TraceWriter() {
  if (fd_ >= 0) ::close(fd_);
}

void TraceWriter::put_record(RecordType type, std::span<const std::uint8_t> payload, std::uint16_t flags) {
  if (!failure_.empty()) return;
  const RecordHeader header{static_cast<std::uint16_t>(type), flags, static_cast<std::uint32_t>(payload.size()), 0};
  append_fixed(pending_, header.type, 2);
  append_fixed(pending_, header.flags, 2);
  append_fixed(pending_, header.length, 4);
  append_fixed(pending_, record_checksum(header, payload), 8);
  pending_.insert(pending_.end(), payload.begin(), payload.end());
}

void TraceWriter::put_process(const ProcessRecord& record) {
  payload_.clear();
  encode_process(record, payload_);
  put_record(RecordType::Process, payload_.bytes());
}

template <typename Encode>
void TraceWriter::put_entries(RecordType type, std::size_t& written, std::size_t size, const Encode& encode,
                              std::uint64_t memory_bytes, std::uint16_t flags, std::span<const std::uint8_t> prefix) {
  while (written < size) {
    const std::size_t last = std::min(size, written + kMaxRecordEntries);
    const auto put = [&](Packing packing) {
      payload_.clear();
      payload_.append(prefix);
      encode(written, last, packing, payload_);
    };
    put(Packing::Smallest);
    ByteReader header(std::span<const std::uint8_t>(payload_.bytes()).subspan(prefix.size()));
    header.varint();
    header.varint();
    const std::uint64_t unpacked_bytes = header.varint();
    ExpansionBudget budget(most_unpacked_bytes(file_bytes_ + pending_.size() + payload_.bytes().size()),
                           written_.unpacked_bytes);
    if (budget.take(last - written, memory_bytes, unpacked_bytes)) {
      written_.unpacked_bytes = budget.taken();
    } else {
      put(Packing::Never);
      written_.unpacked_bytes += (last - written) * memory_bytes + unpacked_bytes;
    }
    put_record(type, payload_.bytes(), flags);
    written = last;
  }
}

void TraceWriter::put_growth(const Dictionary& dictionary) {
  const auto of = [&](auto encode) {
    return [&dictionary, encode](std::size_t first, std::size_t last, Packing packing, ByteWriter& out) {
      encode(dictionary, first, last, packing, out);
    };
  };
  put_entries(RecordType::Modules, written_.modules, dictionary.modules.size(), of(encode_modules), kModuleMemory);
  put_entries(RecordType::Rows, written_.rows, dictionary.rows.size(), of(encode_rows), kRowMemory);
  put_entries(RecordType::Stacks, written_.stacks, dictionary.stacks.size(), of(encode_stacks), kStackMemory);
  put_entries(RecordType::Shapes, written_.shapes, dictionary.shapes.size(), of(encode_shapes), kShapeMemory);
  put_entries(RecordType::Names, written_.names, dictionary.names.size(), of(encode_names), kNameMemory,
              kRecordSkippable);
  put_entries(RecordType::GivenFrames, written_.given_frames, dictionary.given_frames.size(), of(encode_given_frames),
              kGivenFrameMemory, kRecordSkippable);
}

void TraceWriter::put_live(const LiveSet& live) {
  const auto put = [&](LivePart part, std::size_t first, std::size_t size, const auto& from, auto encode,
                       std::uint64_t memory_bytes) {
    const auto prefix = static_cast<std::uint8_t>(part);
    put_entries(RecordType::Live, first, size,
                [&](std::size_t begin, std::size_t last, Packing packing, ByteWriter& out) {
                  encode(from, begin, last, packing, out);
                },
                memory_bytes, 0, {&prefix, 1});
  };
  const Dictionary& own = live.dictionary;
  put(LivePart::Modules, 0, own.modules.size(), own, encode_modules, kModuleMemory);
  put(LivePart::Rows, 0, own.rows.size(), own, encode_rows, kRowMemory);
  put(LivePart::Stacks, 1, own.stacks.size(), own, encode_stacks, kStackMemory);
  put(LivePart::Shapes, 0, own.shapes.size(), own, encode_shapes, kShapeMemory);
  put(LivePart::Blocks, 0, live.blocks.size(), live, encode_live_blocks, kLiveMemory);
  put(LivePart::Mappings, 0, live.mappings.size(), live, encode_live_mappings, kLiveMemory);
}

void TraceWriter::put_clock(std::span<const ClockPair> pairs) {
  if (pairs.empty()) return;
  payload_.clear();
  payload_.varint(pairs.size());
  ClockPair last{0, 0};
  for (const ClockPair& pair : pairs) {
    payload_.varint(zigzag(static_cast<std::int64_t>(pair.stamp - last.stamp)));
    payload_.varint(zigzag(static_cast<std::int64_t>(pair.monotonic_ns - last.monotonic_ns)));
    last = pair;
  }
  put_record(RecordType::Clock, payload_.bytes());
}

void TraceWriter::put_events(std::span<const std::uint8_t> payload) { put_record(RecordType::Events, payload); }

void TraceWriter::put_moment(const Moment& moment) {
  std::size_t first = 0;
  do {
    payload_.clear();
    encode_moment(moment, first, Packing::Smallest, payload_);
    ExpansionBudget budget(most_unpacked_bytes(file_bytes_ + pending_.size() + payload_.bytes().size()), moment_bytes_);
    if (!take_moment(payload_.bytes(), budget)) {
      payload_.clear();
      encode_moment(moment, first, Packing::Never, payload_);
      budget = ExpansionBudget(~std::uint64_t{0}, moment_bytes_);
      take_moment(payload_.bytes(), budget);
    }
    moment_bytes_ = budget.taken();
    put_record(RecordType::Moment, payload_.bytes(), kRecordSkippable);
    first += kMaxRecordObservations;
  } while (first < moment.blocks.size());
}

void TraceWriter::put_end(const ProcessRecord& record) {
  payload_.clear();
  encode_process(record, payload_);
  put_record(RecordType::End, payload_.bytes());
}

Result<TraceWriter> TraceWriter::reopen(const std::string& path, std::uint64_t offset,
                                        const DictionaryCounts& written) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return io_error(path, errno);
  TraceWriter writer(path, fd);
  if (::ftruncate(fd, static_cast<off_t>(offset)) != 0 || ::lseek(fd, 0, SEEK_END) < 0) return io_error(path, errno);
  writer.file_bytes_ = offset;
  writer.written_ = written;
  return writer;
}

Status TraceWriter::write_whole(const std::string& path, std::span<const std::uint8_t> trace) {
  TraceWriter writer = in_memory(path);
  writer.pending_.assign(trace.begin(), trace.end());
  return writer.spill();
}

Status TraceWriter::replace_end(const std::string& path, std::uint64_t offset, const ProcessRecord& record) {
  Result<TraceWriter> writer = reopen(path, offset, {});
  if (!writer) return writer.error();
  writer->put_end(record);
  return writer->flush();
}

void TraceWriter::rest() {
  struct stat status;
  // A pipe or device would be another one.
  if (fd_ < 0 || ::fstat(fd_, &status) != 0 || !S_ISREG(status.st_mode)) return;
  ::close(std::exchange(fd_, -1));
}

Status TraceWriter::spill() {
  if (!in_memory_) return ok();
  in_memory_ = false;
  fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd_ < 0) failure_.push_back(io_error(path_, errno));
  return flush();
}

Status TraceWriter::flush() {
  if (in_memory_) return ok();
  std::size_t done = 0;
  if (fd_ < 0 && !pending_.empty() && failure_.empty()) {
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd_ < 0 || ::lseek(fd_, static_cast<off_t>(file_bytes_), SEEK_SET) < 0) {
      failure_.push_back(io_error(path_, errno));
    }
  }
  while (failure_.empty() && done < pending_.size()) {
    const ssize_t count = ::write(fd_, pending_.data() + done, pending_.size() - done);
    if (count < 0 && errno == EINTR) continue;
    const bool is_full = count == 0 || (count < 0 && (errno == ENOSPC || errno == EDQUOT));
    if (is_full && make_room_ && make_room_()) continue;
    if (count <= 0) {
      failure_.push_back(io_error(path_, count < 0 ? errno : ENOSPC));
      // Half a record would only make readers complain; where this fails too they cope with it.
      if (::ftruncate(fd_, static_cast<off_t>(file_bytes_)) != 0) break;
      break;
    }
    done += static_cast<std::size_t>(count);
  }
  if (failure_.empty()) file_bytes_ += done;
  pending_.clear();
  if (!failure_.empty()) return failure_.front();
  return ok();
}

}  // namespace tare::trace
