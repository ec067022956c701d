// A spool that its program still writes: the shared words that both sides change, and giving chunks back.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trace/base/guarded_mapping.h"
#include "trace/base/result.h"
#include "trace/spool/spool_file.h"
#include "trace/spool/spool_layout.h"

namespace tare::core {

class LiveSpool {
 public:
  static Result<LiveSpool> open(const std::string& path);

  const trace::SpoolFile& file() const { return file_; }
  trace::SpoolFile& file() { return file_; }
  // As far as they are sane and lie in the file. chunk_count() may move the controls: references to them end there.
  std::uint32_t chunk_count();
  trace::SpoolCounts table_counts();
  bool ended() const;
  bool orphaned() const;
  bool unheard() const;  // its program can't wake us
  // The file was cut short by another process: missing bytes read as zeros.
  bool is_cut() const;
  // Its process was over when it was opened: nothing here changes any more.
  bool is_copy() const { return copy_ != nullptr; }
  // The process runs as the owner of the file, so a user with fewer rights hasn't made the file in its name.
  bool is_owned_by(pid_t pid) const;
  uid_t owner() const { return owner_; }
  trace::SpoolHeader& header() const { return *header_; }
  trace::ChunkControl& control(std::uint32_t chunk) const { return controls_[chunk]; }

  // The chunk's words as they lie in the spool, which the program may still change. Null where they can't be mapped.
  const std::uint64_t* words(std::uint32_t chunk);

  // Full becomes Held: decoded, but not yet safe in the trace.
  void hold(std::uint32_t chunk);
  // A held chunk's events are safe: the program may have it.
  void give_back(std::uint32_t chunk);
  // Gives the memory of free chunks back to the system, but for a page each and for the `keep` that the program takes
  // first. It makes the rest real again when it needs it.
  void trim_free(std::size_t keep);

 private:
  static constexpr std::uint64_t kTrimmedBytes = 4096;
  void push_free(std::uint32_t chunk);
  std::vector<std::uint32_t> take_free();
  explicit LiveSpool(trace::SpoolFile file) : file_(std::move(file)) {}
  void map_controls(std::uint32_t wanted);
  bool is_over() const;
  Status copy();
  Status map();

  trace::SpoolFile file_;
  // Of a process that is gone and has filled few chunks: read once, which costs a third of mapping them.
  struct Copy {
    alignas(trace::SpoolHeader) unsigned char header[sizeof(trace::SpoolHeader)];
    std::vector<trace::ChunkControl> controls;
  };
  static constexpr std::uint32_t kMostCopied = 16;  // chunks
  std::unique_ptr<Copy> copy_;
  trace::GuardedMapping header_map_;
  trace::GuardedMapping controls_map_;
  trace::SpoolHeader* header_ = nullptr;
  trace::ChunkControl* controls_ = nullptr;
  std::uint32_t mapped_controls_ = 0;
  std::uint32_t most_controls_ = 0;  // as many as the file has
  std::uint64_t file_chunks_ = 0;
  uid_t owner_ = 0;
  // Read where they lie, chunks cost a fault the first time; copied by pread they cost 4 ns an event every time.
  static constexpr std::uint32_t kWindowChunks = 64;  // 4 MiB of this process's address space
  std::vector<trace::GuardedMapping> windows_;        // without data: not mapped yet
};

}  // namespace tare::core
