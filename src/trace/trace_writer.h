// Writes a .tare file record by record; what was written stays readable whatever happens next.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trace/byte_stream.h"
#include "trace/dictionary.h"
#include "trace/dictionary_codec.h"
#include "trace/event_block.h"
#include "trace/moment.h"
#include "trace/process_codec.h"
#include "trace/process_info.h"
#include "trace/record.h"
#include "trace/result.h"

namespace tare::trace {

// After its first failed write it stays failed: every later call gives that error and writes nothing.
class TraceWriter {
 public:
  // Creates or overwrites `path` and writes the file header.
  static Result<TraceWriter> create(const std::string& path);
  // Keeps all of it in memory: nothing fails, and there is no file until spill() makes `path`.
  static TraceWriter in_memory(const std::string& path);
  TraceWriter(TraceWriter&& other) noexcept;
  TraceWriter& operator=(TraceWriter&& other) noexcept;
  ~TraceWriter();

  void put_process(const ProcessRecord& record);
  // What the dictionary gained since the last call. Must come before blocks that use it.
  void put_growth(const Dictionary& dictionary);
  void put_clock(std::span<const ClockPair> pairs);
  // `payload` as EventBlockEncoder gives it.
  void put_events(std::span<const std::uint8_t> payload);
  // In as many records as it needs. The shapes it refers to must have been put.
  void put_moment(const Moment& moment);
  void put_end(const ProcessRecord& record);

  // Goes on with an unfinished trace after its first `offset` bytes, which hold `written` of the dictionary.
  static Result<TraceWriter> reopen(const std::string& path, std::uint64_t offset, const DictionaryCounts& written);
  // Writes a trace that was kept in memory into a file.
  static Status write_whole(const std::string& path, std::span<const std::uint8_t> trace);
  // Puts another End record in the place of the one at `offset` of a finished trace.
  static Status replace_end(const std::string& path, std::uint64_t offset, const ProcessRecord& record);

  // Brings everything put so far into the file, if there is one. Only after it returned ok may the source of the events
  // be thrown away.
  Status flush();

  bool is_in_memory() const { return in_memory_; }
  // What was kept in memory goes into the file, as will all that follows.
  Status spill();
  // The whole trace, from a writer that is done and in memory.
  std::vector<std::uint8_t> take_bytes() { return std::move(pending_); }

  // Closes the descriptor until the next flush(), if `path` can be opened again.
  void rest();
  bool holds_descriptor_from(int number) const { return fd_ >= number; }
  // The file has got another name.
  void renamed(const std::string& path) { path_ = path; }

  const std::string& path() const { return path_; }
  std::uint64_t file_bytes() const { return in_memory_ ? pending_.size() : file_bytes_; }

 private:
  TraceWriter(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  void put_file_header();
  void put_record(RecordType type, std::span<const std::uint8_t> payload, std::uint16_t flags = 0);

  std::string path_;
  int fd_ = -1;
  bool in_memory_ = false;
  std::vector<std::uint8_t> pending_;
  ByteWriter payload_;
  DictionaryCounts written_;
  std::uint64_t moment_bytes_ = 0;  // unpacked, as ExpansionBudget counts them
  std::uint64_t file_bytes_ = 0;    // whole records in the file
  std::uint64_t last_clock_stamp_ = 0;
  std::vector<Error> failure_;  // empty or one
};

}  // namespace tare::trace
