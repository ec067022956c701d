// Writes a trace from the facts of another profiler's file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trace/base/result.h"
#include "trace/file/event_block.h"
#include "trace/file/trace_writer.h"
#include "trace/model/dictionary.h"
#include "trace/model/event_buffer.h"
#include "trace/model/interner.h"
#include "trace/model/process_info.h"

namespace tare::core {

// Ids count from 0, those of stacks from 1: stack 0 is the empty one. Events come in the order in which they happened.
// A stamp is nanoseconds since the start of the recording; where it isn't later than the one before, it becomes so
// by 1.
class ImportWriter {
 public:
  // Error Usage: the output can't be this file.
  static Result<std::unique_ptr<ImportWriter>> create(const std::string& path, trace::ProcessInfo info);

  // Without a build id, which most profilers don't record, it gets that of the file which is there now: only then the
  // symbolizer takes names from it.
  Result<std::uint32_t> add_module(trace::Module module);
  // Named by the module's file. `module` kNoModule: by nothing.
  Result<std::uint32_t> add_row(std::uint32_t module, std::uint64_t address);
  // Named by the frames, innermost first; at least one. Their rows are ignored.
  Result<std::uint32_t> add_named_row(std::uint32_t module, std::uint64_t address,
                                      std::vector<trace::GivenFrame> frames);
  Result<std::uint32_t> stack(std::uint32_t caller, std::uint32_t row);
  Result<std::uint32_t> shape(std::uint32_t stack, trace::AllocApi api, std::uint64_t align_bytes,
                              std::uint64_t requested_bytes, std::uint64_t usable_bytes, double weight);

  Status begin_block(std::uint64_t stamp, std::uint32_t thread, std::uint64_t address, std::uint32_t shape);
  Status end_block(std::uint64_t stamp, std::uint32_t thread, std::uint64_t address);
  Status grow_block(std::uint64_t stamp, std::uint32_t thread, std::uint64_t old_address, std::uint64_t address,
                    std::uint32_t shape);
  // For sources without addresses: some block of the shape. Of several, the youngest ends first. Corrupt: none is live.
  Status begin_some_block(std::uint64_t stamp, std::uint32_t thread, std::uint32_t shape);
  Status end_some_block(std::uint64_t stamp, std::uint32_t thread, std::uint32_t shape);

  // No call but this one may follow an error; an unfinished file is readable as one of a killed program.
  Status finish(std::uint64_t end_ns, bool complete, std::uint64_t peak_rss_bytes);

 private:
  struct Thread {
    trace::EventBuffer pending;
    std::uint64_t pending_made = 0;
    std::uint64_t written_made = 0;
  };
  struct Addresses {
    std::vector<std::uint64_t> live;
    std::vector<std::uint64_t> free;
  };

  ImportWriter(trace::TraceWriter writer, trace::ProcessInfo info);
  Status put(std::uint32_t thread, const trace::Event* events, std::size_t count);
  Status check(std::uint32_t thread, std::uint32_t shape) const;
  std::uint64_t next_stamp(std::uint64_t stamp);
  void write_block(std::uint32_t number);
  void write_all();

  trace::TraceWriter writer_;
  trace::ProcessRecord record_;
  trace::Dictionary dictionary_;
  trace::Interner interner_;
  trace::EventBlockEncoder encoder_;
  std::uint32_t used_shapes_ = 0;
  std::vector<Thread> threads_;
  std::vector<Addresses> addresses_;  // by shape
  std::uint64_t next_address_ = 1 << 20;
  std::uint64_t last_stamp_ = 0;
  std::size_t pending_events_ = 0;
  std::size_t pending_text_bytes_ = 0;
};

}  // namespace tare::core
