// Finishes a trace from its spool: see finish_leftover.h.
#include "trace/open/finish_leftover.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "trace/base/process_files.h"
#include "trace/file/trace_reader.h"
#include "trace/file/trace_writer.h"
#include "trace/open/joined_spool.h"
#include "trace/spool/spool_folder.h"

namespace tare::trace {

namespace {

// Against a second reader doing the same. Released when the file is closed.
class FileLock {
 public:
  explicit FileLock(const std::string& path) : fd_(::open(path.c_str(), O_RDWR | O_CLOEXEC)) {
    held_ = fd_ >= 0 && ::flock(fd_, LOCK_EX | LOCK_NB) == 0;
  }
  ~FileLock() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  bool is_held() const { return held_; }

 private:
  int fd_;
  bool held_ = false;
};

bool process_lives(std::uint32_t pid) {
  if (::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH) return false;
  // A zombie writes nothing any more: only its parent hasn't waited for it yet.
  const std::optional<ProcessStat> stat = process_stat(static_cast<pid_t>(pid));
  return !stat || (stat->state != 'Z' && stat->state != 'X');
}

}  // namespace

Result<Leftover> finish_leftover(const std::string& path) {
  Result<TraceFile> file = TraceFile::open(path);
  if (!file) return file.error();
  const FileLock lock(path);
  Result<TraceIndex> index = file->index();
  if (!index) return index.error();
  if (index->ended || index->damage || index->process.spool_path.empty()) return Leftover::None;
  if (!lock.is_held()) return Leftover::InUse;
  const std::string spool_path = find_spool(index->process);
  std::optional<SpoolFolder> folder = SpoolFolder::around(spool_path);
  if (!folder) return Leftover::None;
  if (folder->launcher_lives()) return Leftover::InUse;

  DictionaryCounts written{index->dictionary.modules.size(), index->dictionary.rows.size(),
                           index->dictionary.stacks.size(),  index->dictionary.shapes.size(),
                           index->dictionary.names.size(),   index->unpacked_bytes};
  const bool is_new = index->process.info.start_realtime_ns == 0;
  Result<SpoolImport> import = import_joined(spool_path, *index);
  if (!import) return import.error();
  if (process_lives(index->process.info.pid)) return Leftover::InUse;
  if (!import->warnings.empty()) return Leftover::None;  // damaged: keep the spool for later analysis

  Result<TraceWriter> writer = TraceWriter::reopen(path, index->readable_bytes, written);
  if (!writer) return writer.error();
  ProcessRecord& record = index->process;
  if (is_new) writer->put_process(record);
  writer->put_growth(index->dictionary);
  writer->put_clock(import->clock_pairs);
  for (const ImportedBlock& block : import->blocks) writer->put_events(block.payload);
  record.event_count = record.spool_events = 0;
  const auto count = [&](const BlockHeader& header) {
    record.event_count += header.event_count;
    record.spool_events += header.spool_events;
    record.thread_count = std::max(record.thread_count, header.thread + 1);
  };
  for (const BlockRef& block : index->blocks) count(block.header);
  for (const ImportedBlock& block : import->blocks) count(block.header);
  writer->put_end(record);
  if (Status status = writer->flush(); !status) return status.error();
  folder->remove_spool(spool_path.substr(spool_path.rfind('/') + 1));
  return Leftover::Finished;
}

}  // namespace tare::trace
