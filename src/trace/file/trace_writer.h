// Writes a .tare file record by record; written records stay readable after any interruption.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "trace/base/byte_stream.h"
#include "trace/base/result.h"
#include "trace/file/dictionary_codec.h"
#include "trace/file/event_block.h"
#include "trace/file/process_codec.h"
#include "trace/file/record.h"
#include "trace/model/dictionary.h"
#include "trace/model/live_set.h"
#include "trace/model/moment.h"
#include "trace/model/process_info.h"

namespace tare::trace {

// After its first failed write it stays failed: every later call gives that error and writes nothing.
class TraceWriter {
 public:
  // Called where the disk is full: true means that there is room now.
  using MakeRoom = std::function<bool()>;

  // Creates or overwrites `path` and writes the file header.
  static Result<TraceWriter> create(const std::string& path);
  // Keeps all of it in memory: nothing fails, and there is no file until spill() makes `path`.
  static TraceWriter in_memory(const std::string& path);
  TraceWriter(TraceWriter&& other) noexcept;
  TraceWriter& operator=(TraceWriter&& other) noexcept;
  ~TraceWriter();

  void put_process(const ProcessRecord& record);
  // Writes the entries that the dictionary has gained since the last call. Must come before blocks that use it.
  void put_growth(const Dictionary& dictionary);
  // Writes the blocks with which a segment begins. Before its first block of events.
  void put_live(const LiveSet& live);
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

  // Must not use the writer.
  void on_full_disk(MakeRoom make_room) { make_room_ = std::move(make_room); }

  bool is_in_memory() const { return in_memory_; }
  // Moves the records in memory into the file; later ones go there directly.
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
  // Entries from `written` to `size`, in as many records as they need. Each payload begins with `prefix`.
  template <typename Encode>
  void put_entries(RecordType type, std::size_t& written, std::size_t size, const Encode& encode,
                   std::uint64_t memory_bytes, std::uint16_t flags = 0, std::span<const std::uint8_t> prefix = {});

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
  MakeRoom make_room_;
};

}  // namespace tare::trace
