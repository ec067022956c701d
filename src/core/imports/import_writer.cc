// Checks a reader's facts, and collects events into blocks of a thread.
#include "core/imports/import_writer.h"

#include <algorithm>
#include <bit>

#include "core/demangle/demangle.h"
#include "core/symbols/elf_file.h"
#include "trace/file/dictionary_codec.h"
#include "trace/open/block_packer.h"
#include "trace/spool/spool_layout.h"

namespace tare::core {
namespace {

using trace::Event;
using trace::EventKind;
using trace::index;

// Pending events of all threads take 24 MB at most.
constexpr std::size_t kMostPendingEvents = 1 << 20;
// Half of the largest unpacked record.
constexpr std::size_t kMostPendingText = trace::kMaxUnpackedBytes / 2;
constexpr std::uint64_t kAddressEnd = std::uint64_t{1} << 48;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 47;  // of a block, and of an alignment
constexpr std::size_t kMostFrames = 1000;                     // of a row

Error impossible(const std::string& what) { return {ErrorKind::Corrupt, what}; }

void cut(std::string& text) { text.resize(std::min(text.size(), trace::kMaxFrameText)); }

}  // namespace

ImportWriter::ImportWriter(trace::TraceWriter writer, trace::ProcessInfo info)
    : writer_(std::move(writer)), interner_((dictionary_.stacks.push_back({trace::kEmptyStack, {}}), dictionary_)) {
  record_.info = std::move(info);
  writer_.put_process(record_);
}

Result<std::unique_ptr<ImportWriter>> ImportWriter::create(const std::string& path, trace::ProcessInfo info) {
  auto writer = trace::TraceWriter::create(path);
  if (!writer) return writer.error();
  return std::unique_ptr<ImportWriter>(new ImportWriter(*std::move(writer), std::move(info)));
}

Result<std::uint32_t> ImportWriter::add_module(trace::Module module) {
  if (dictionary_.modules.size() >= trace::kMaxModules) return impossible("it has more than 65,535 files of code");
  if (module.end < module.start) return impossible("a file of code ends before it starts");
  if (module.build_id.empty() && module.start < module.end && module.path.starts_with('/')) {
    if (const auto file = ElfFile::open(module.path)) module.build_id = (*file)->build_id();
  }
  dictionary_.modules.push_back(std::move(module));
  return static_cast<std::uint32_t>(dictionary_.modules.size() - 1);
}

Result<std::uint32_t> ImportWriter::add_row(std::uint32_t module, std::uint64_t address) {
  if (module >= dictionary_.modules.size() && module != index(trace::kNoModule))
    return impossible("an address refers to a file of code that isn't there");
  if (address >= kAddressEnd) return impossible("an address of code has more than 48 bits");
  if (dictionary_.rows.size() >= trace::kMaxRows) return impossible("it has more than 4,194,304 addresses of code");
  dictionary_.rows.push_back(address | std::uint64_t{module} << 48);
  return static_cast<std::uint32_t>(dictionary_.rows.size() - 1);
}

Result<std::uint32_t> ImportWriter::add_named_row(std::uint32_t module, std::uint64_t address,
                                                  std::vector<trace::GivenFrame> frames) {
  if (frames.empty() || frames.size() > kMostFrames) return impossible("an address has no frames, or too many");
  const Result<std::uint32_t> row = add_row(module, address);
  if (!row) return row;
  for (trace::GivenFrame& frame : frames) {
    frame.function = without_decltype_result(frame.function);
    cut(frame.function);
    cut(frame.file);
    frame.row = static_cast<trace::RowId>(*row);
    pending_text_bytes_ += frame.function.size() + frame.file.size() + 3 * trace::kMaxVarintBytes;
    dictionary_.given_frames.push_back(std::move(frame));
  }
  if (pending_text_bytes_ > kMostPendingText) {
    writer_.put_growth(dictionary_);
    pending_text_bytes_ = 0;
    if (const Status flushed = writer_.flush(); !flushed) return flushed.error();
  }
  return row;
}

Result<std::uint32_t> ImportWriter::stack(std::uint32_t caller, std::uint32_t row) {
  if (caller >= dictionary_.stacks.size() || row >= dictionary_.rows.size())
    return impossible("a stack refers to entries that aren't there");
  const trace::StackId id = interner_.stack(static_cast<trace::StackId>(caller), static_cast<trace::RowId>(row));
  interner_.fit();
  if (id != trace::Interner::kNoStack) return index(id);
  interner_.count_cut_stack();
  return caller;
}

Result<std::uint32_t> ImportWriter::shape(std::uint32_t stack, trace::AllocApi api, std::uint64_t align_bytes,
                                          std::uint64_t requested_bytes, std::uint64_t usable_bytes, double weight) {
  const auto code = static_cast<std::uint32_t>(api);
  if (code >= 32 || (trace::kKnownAllocApis >> code & 1) == 0) return impossible("an entry point doesn't exist");
  if (stack >= dictionary_.stacks.size()) return impossible("a size refers to a stack that isn't there");
  if (requested_bytes > kMostBytes || usable_bytes > kMostBytes || usable_bytes < requested_bytes)
    return impossible("a block has an impossible size");
  if ((align_bytes != 0 && !std::has_single_bit(align_bytes)) || align_bytes > kMostBytes)
    return impossible("an alignment isn't a power of two");
  if (!(weight >= 1 && weight <= 1e15)) return impossible("a number of blocks is impossible");
  const auto align_log2 = static_cast<std::uint64_t>(align_bytes == 0 ? 0 : std::countr_zero(align_bytes));
  const trace::Interner::ShapeWords words = trace::Interner::make_shape(
      static_cast<trace::StackId>(stack), code, align_log2, 0, requested_bytes, usable_bytes, weight);
  return index(interner_.shape(words, trace::Interner::hash(words)));
}

Status ImportWriter::check(std::uint32_t thread, std::uint32_t shape) const {
  if (thread >= trace::kMaxThreads) return impossible("it has more than 65,535 threads");
  if (shape >= dictionary_.shapes.size()) return impossible("an event refers to a size that isn't there");
  return ok();
}

std::uint64_t ImportWriter::next_stamp(std::uint64_t stamp) {
  return last_stamp_ = std::max(std::min(stamp, ~std::uint64_t{0} >> 2), last_stamp_ + 1);
}

Status ImportWriter::put(std::uint32_t thread, const Event* events, std::size_t count) {
  if (thread >= threads_.size()) threads_.resize(thread + 1);
  if (threads_[thread].pending.size() + count > trace::kBlockEvents) write_block(thread);
  if (pending_events_ + count > kMostPendingEvents) write_all();
  Thread& its = threads_[thread];
  for (std::size_t i = 0; i < count; ++i) its.pending.push_back(events[i]);
  ++its.pending_made;
  pending_events_ += count;
  return writer_.flush();
}

Status ImportWriter::begin_block(std::uint64_t stamp, std::uint32_t thread, std::uint64_t address,
                                 std::uint32_t shape) {
  if (const Status valid = check(thread, shape); !valid) return valid;
  const Event event{next_stamp(stamp), address, static_cast<trace::ShapeId>(shape), static_cast<std::uint16_t>(thread),
                    EventKind::Alloc,  0};
  return put(thread, &event, 1);
}

Status ImportWriter::end_block(std::uint64_t stamp, std::uint32_t thread, std::uint64_t address) {
  if (thread >= trace::kMaxThreads) return impossible("it has more than 65,535 threads");
  const Event event{next_stamp(stamp), address,
                    trace::kNoShape,   static_cast<std::uint16_t>(thread),
                    EventKind::Free,   static_cast<std::uint8_t>(trace::FreeApi::Free)};
  return put(thread, &event, 1);
}

Status ImportWriter::grow_block(std::uint64_t stamp, std::uint32_t thread, std::uint64_t old_address,
                                std::uint64_t address, std::uint32_t shape) {
  if (const Status valid = check(thread, shape); !valid) return valid;
  const auto number = static_cast<std::uint16_t>(thread);
  const std::uint64_t first = next_stamp(stamp);
  const Event events[] = {
      {first, old_address, trace::kNoShape, number, EventKind::ReallocEnd, 0},
      {next_stamp(first), address, static_cast<trace::ShapeId>(shape), number, EventKind::ReallocStart, 0}};
  return put(thread, events, 2);
}

Status ImportWriter::begin_some_block(std::uint64_t stamp, std::uint32_t thread, std::uint32_t shape) {
  if (const Status valid = check(thread, shape); !valid) return valid;
  if (shape >= addresses_.size()) addresses_.resize(dictionary_.shapes.size());
  Addresses& of_shape = addresses_[shape];
  if (of_shape.free.empty()) {
    const std::uint64_t bytes = (dictionary_.shapes[shape].usable_bytes + 31) / 16 * 16;
    // Beyond 47 bits addresses begin anew; a block there may lie where another one does.
    if (next_address_ + bytes >= kMostBytes) next_address_ = 1 << 20;
    of_shape.free.push_back(next_address_);
    next_address_ += bytes;
  }
  const std::uint64_t address = of_shape.free.back();
  of_shape.free.pop_back();
  of_shape.live.push_back(address);
  return begin_block(stamp, thread, address, shape);
}

Status ImportWriter::end_some_block(std::uint64_t stamp, std::uint32_t thread, std::uint32_t shape) {
  if (shape >= addresses_.size() || addresses_[shape].live.empty())
    return impossible("a free ends a block that isn't live");
  Addresses& of_shape = addresses_[shape];
  const std::uint64_t address = of_shape.live.back();
  of_shape.live.pop_back();
  of_shape.free.push_back(address);
  return end_block(stamp, thread, address);
}

void ImportWriter::write_block(std::uint32_t number) {
  Thread& thread = threads_[number];
  if (thread.pending.empty()) return;
  writer_.put_growth(dictionary_);
  pending_text_bytes_ = 0;
  trace::BlockHeader header;
  header.thread = number;
  header.first_event = thread.written_made;
  header.spool_events = thread.pending_made;
  writer_.put_events(encoder_.encode(header, thread.pending, dictionary_, used_shapes_));
  record_.event_count += thread.pending.size();
  record_.spool_events += thread.pending_made;
  pending_events_ -= thread.pending.size();
  thread.written_made += thread.pending_made;
  thread.pending_made = 0;
  thread.pending.clear();
}

void ImportWriter::write_all() {
  for (std::uint32_t number = 0; number < threads_.size(); ++number) write_block(number);
}

Status ImportWriter::finish(std::uint64_t end_ns, bool complete, std::uint64_t peak_rss_bytes) {
  write_all();
  writer_.put_growth(dictionary_);
  const std::uint64_t end = std::max({std::min(end_ns, ~std::uint64_t{0} >> 2), last_stamp_, std::uint64_t{1}});
  const trace::ClockPair pairs[] = {{0, 0}, {end, end}};
  writer_.put_clock(pairs);
  record_.info.ended_in_order = complete;
  record_.info.peak_rss_bytes = peak_rss_bytes;
  record_.info.folded = interner_.folded();
  record_.thread_count = static_cast<std::uint32_t>(threads_.size());
  writer_.put_end(record_);
  return writer_.flush();
}

}  // namespace tare::core
