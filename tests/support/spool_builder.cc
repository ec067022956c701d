// Writes spool files by hand: see spool_builder.h.
#include "support/spool_builder.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "trace/spool/program_note.h"

namespace tare::test {

using namespace trace;

namespace {

[[noreturn]] void fail(const std::string& what) {
  std::perror(what.c_str());
  std::abort();
}

}  // namespace

SpoolBuilder::SpoolBuilder(std::string path, SpoolFacts facts) : path_(std::move(path)) {
  fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd_ < 0 || ::ftruncate(fd_, kSpoolBytes) != 0) fail(path_);
  void* mapping = ::mmap(nullptr, kSpoolBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd_, 0);
  if (mapping == MAP_FAILED) fail(path_);
  base_ = static_cast<std::uint8_t*>(mapping);
  SpoolHeader& spool = header();
  std::memcpy(spool.magic, kSpoolMagic, sizeof(kSpoolMagic));
  spool.version = kSpoolVersion;
  spool.header_bytes = sizeof(SpoolHeader);
  spool.flags = facts.flags;
  spool.pid = facts.pid;
  spool.parent_pid = facts.parent_pid;
  spool.image_index = facts.image_index;
  spool.page_bytes = 4096;
  spool.allocator = facts.allocator;
  spool.allocator_path = add_string("/usr/lib/libc.so.6");
  spool.exe = add_string(facts.exe);
  spool.cwd = add_string(facts.cwd);
  std::string line;
  for (const std::string& word : facts.command_line) line += word + '\0';
  spool.command_line = add_string(line);
  spool.kernel = add_string("6.1.0");
  spool.host = add_string("testhost");
  spool.start_realtime_ns = facts.start_realtime_ns;
  spool.start_monotonic_ns = facts.start_monotonic_ns;
  spool.start_stamp = facts.start_stamp;
  spool.sample_bytes = facts.sample_bytes;
  last_stamp_ = facts.start_stamp;
}

SpoolBuilder::~SpoolBuilder() {
  if (base_ != nullptr) ::munmap(base_, kSpoolBytes);
  if (fd_ >= 0) ::close(fd_);
}

StringRef SpoolBuilder::add_string(std::string_view text) {
  SpoolHeader& spool = header();
  const std::uint32_t offset = spool.string_bytes;
  if (offset + text.size() > kMaxStringBytes) std::abort();
  std::memcpy(base_ + kStrings + offset, text.data(), text.size());
  if (offset < kHeadStringBytes) {
    std::memcpy(base_ + kHeadStrings + offset, text.data(),
                std::min<std::size_t>(text.size(), kHeadStringBytes - offset));
  }
  spool.string_bytes = offset + static_cast<std::uint32_t>(text.size());
  return {offset, static_cast<std::uint32_t>(text.size())};
}

std::uint32_t SpoolBuilder::add_module(std::string_view module_path, std::uint64_t start, std::uint64_t end) {
  SpoolHeader& spool = header();
  const std::uint32_t id = spool.module_count;
  ModuleEntry entry{};
  entry.load_bias = start;
  entry.start = start;
  entry.end = end;
  entry.path = add_string(module_path);
  entry.build_id_bytes = 20;
  for (std::size_t i = 0; i < 20; ++i) entry.build_id[i] = static_cast<std::uint8_t>(id * 20 + i);
  reinterpret_cast<ModuleEntry*>(base_ + kModules)[id] = entry;
  if (id < kHeadModuleBytes / sizeof(ModuleEntry)) reinterpret_cast<ModuleEntry*>(base_ + kHeadModules)[id] = entry;
  spool.module_count = id + 1;
  return id;
}

std::uint32_t SpoolBuilder::add_row(std::uint64_t address, std::uint32_t module) {
  SpoolHeader& spool = header();
  const std::uint32_t id = spool.row_count;
  const Row row{address | std::uint64_t{module} << 48};
  reinterpret_cast<Row*>(base_ + kRows)[id] = row;
  if (id < kHeadRowBytes / sizeof(Row)) reinterpret_cast<Row*>(base_ + kHeadRows)[id] = row;
  spool.row_count = id + 1;
  return id;
}

ChunkControl& SpoolBuilder::control(std::uint32_t chunk) {
  return *reinterpret_cast<ChunkControl*>(base_ + control_offset(chunk));
}

SpoolBuilder::Thread& SpoolBuilder::room(std::uint32_t thread, std::uint64_t words, std::uint64_t stamp) {
  Thread& state = threads_[thread];
  SpoolHeader& spool = header();
  if (thread >= spool.thread_count) spool.thread_count = thread + 1;
  if (stamp != kUnstamped) last_stamp_ = std::max(last_stamp_, stamp);
  if (words * 8 > kChunkBytes) std::abort();
  if (state.has_chunk && control(state.chunk).committed + words * 8 > kChunkBytes) close_chunk(thread);
  if (!state.has_chunk) {
    state.chunk = spool.chunk_count;
    spool.chunk_count = state.chunk + 1;
    ChunkControl& chunk = control(state.chunk);
    chunk.thread = thread;
    chunk.thread_chunk = state.chunks++;
    chunk.first_event = state.events;
    chunk.tid = spool.pid + thread;
    chunk.open_stamp = stamp != kUnstamped ? stamp : last_stamp_;
    chunk.open_monotonic_ns = spool.start_monotonic_ns + (chunk.open_stamp - spool.start_stamp) / 2;  // 2 GHz
    chunk.state = ChunkState::Open;
    state.has_chunk = true;
    state.stack.clear();
  }
  return state;
}

void SpoolBuilder::commit(Thread& thread, const std::vector<std::uint64_t>& words) {
  ChunkControl& chunk = control(thread.chunk);
  std::memcpy(this->chunk(thread.chunk) + chunk.committed, words.data(), words.size() * 8);
  chunk.committed += static_cast<std::uint32_t>(words.size() * 8);
  ++thread.events;
  ++events_;
}

std::uint64_t SpoolBuilder::frames(Thread& thread, const std::vector<std::uint32_t>& stack,
                                   std::vector<std::uint64_t>& words) {
  std::uint64_t kept = 0;
  while (kept < stack.size() && kept < thread.stack.size() &&
         stack[stack.size() - 1 - kept] == thread.stack[thread.stack.size() - 1 - kept]) {
    ++kept;
  }
  const std::uint64_t fresh = stack.size() - kept;
  for (std::uint64_t i = 0; i < fresh; i += 2) {
    std::uint64_t word = stack[i];
    if (i + 1 < fresh) word |= std::uint64_t{stack[i + 1]} << 32;
    words.push_back(word);
  }
  thread.stack = stack;
  return kept << W0::kKeptShift | fresh << W0::kFreshShift;
}

namespace {

void put_alloc_words(const AllocCall& call, std::uint64_t& word0, std::vector<std::uint64_t>& words) {
  std::uint64_t word1 = call.address | static_cast<std::uint64_t>(call.align_log2) << W1::kAlignShift |
                        static_cast<std::uint64_t>(call.api) << W1::kApiShift;
  const bool inline_slop =
      call.usable_bytes >= call.requested_bytes && call.usable_bytes - call.requested_bytes <= W0::kSlopMask;
  if (inline_slop) {
    word0 |= (call.usable_bytes - call.requested_bytes) << W0::kSlopShift;
  } else {
    word0 |= W0::kUsableWord;
  }
  if (call.weight != 1) word1 |= W1::kWeighted;
  words.push_back(word1);
  words.push_back(call.requested_bytes);
  if (!inline_slop) words.push_back(call.usable_bytes);
  if (call.weight != 1) words.push_back(std::bit_cast<std::uint64_t>(call.weight));
}

}  // namespace

void SpoolBuilder::alloc(std::uint32_t thread, std::uint64_t stamp, const AllocCall& call) {
  Thread& state = room(thread, 8 + call.stack.size() / 2, stamp);
  std::vector<std::uint64_t> words{static_cast<std::uint64_t>(Op::Alloc)};
  put_alloc_words(call, words[0], words);
  if (stamp != kUnstamped) {
    words[0] |= W0::kStamped;
    words.push_back(stamp);
  }
  words[0] |= frames(state, call.stack, words);
  commit(state, words);
}

void SpoolBuilder::free(std::uint32_t thread, std::uint64_t stamp, std::uint64_t address, FreeApi api) {
  Thread& state = room(thread, 2, stamp);
  std::vector<std::uint64_t> words{static_cast<std::uint64_t>(Op::Free) |
                                   static_cast<std::uint64_t>(api) << F0::kApiShift | address << F0::kAddressShift};
  if (stamp != kUnstamped) {
    words[0] |= F0::kStamped;
    words.push_back(stamp);
  }
  commit(state, words);
}

void SpoolBuilder::free_with_stack(std::uint32_t thread, std::uint64_t stamp, std::uint64_t address,
                                   const std::vector<std::uint32_t>& stack) {
  Thread& state = room(thread, 4 + stack.size() / 2, stamp);
  std::vector<std::uint64_t> words{static_cast<std::uint64_t>(Op::Free) | F0::kStack |
                                   static_cast<std::uint64_t>(FreeApi::Free) << F0::kApiShift |
                                   address << F0::kAddressShift};
  if (stamp != kUnstamped) {
    words[0] |= F0::kStamped;
    words.push_back(stamp);
  }
  const std::size_t at = words.size();
  words.push_back(0);
  words[at] = frames(state, stack, words);
  commit(state, words);
}

void SpoolBuilder::realloc(std::uint32_t thread, std::uint64_t stamp_before, std::uint64_t stamp_after,
                           std::uint64_t old_address, const AllocCall& call) {
  Thread& state = room(thread, 10 + call.stack.size() / 2, stamp_before);
  std::vector<std::uint64_t> words{static_cast<std::uint64_t>(Op::Realloc)};
  put_alloc_words(call, words[0], words);
  if (stamp_before != kUnstamped) {
    words[0] |= W0::kStamped;
    words.push_back(stamp_before);
    words.push_back(stamp_after);
    last_stamp_ = std::max(last_stamp_, stamp_after);
  }
  words.push_back(old_address);
  words[0] |= frames(state, call.stack, words);
  commit(state, words);
}

void SpoolBuilder::map(std::uint32_t thread, std::uint64_t stamp, MapApi api, std::uint64_t address,
                       std::uint64_t length, std::uint64_t old_address, std::uint64_t old_length,
                       const std::vector<std::uint32_t>& stack) {
  Thread& state = room(thread, 8 + stack.size() / 2, stamp);
  std::vector<std::uint64_t> words{static_cast<std::uint64_t>(Op::Map),
                                   address | static_cast<std::uint64_t>(api) << W1::kApiShift, length};
  if (stamp != kUnstamped) {
    words[0] |= W0::kStamped;
    words.push_back(stamp);
  }
  words.push_back(old_address);
  words.push_back(old_length);
  words[0] |= frames(state, stack, words);
  commit(state, words);
}

void SpoolBuilder::note(std::uint32_t thread, std::uint64_t stamp, Op op, std::uint64_t value) {
  Thread& state = room(thread, 3, stamp);
  commit(state, {static_cast<std::uint64_t>(op) | N0::kStamped, value, stamp});
}

void SpoolBuilder::contents(std::uint32_t thread, std::uint64_t stamp, std::uint64_t address,
                            std::uint64_t unwritten_bytes, ContentClass content_class, std::uint64_t digest) {
  const bool stamped = stamp != kUnstamped;
  Thread& state = room(thread, 4, stamp);
  std::vector<std::uint64_t> words = {static_cast<std::uint64_t>(Op::Contents) | (stamped ? N0::kStamped : 0) |
                                          static_cast<std::uint64_t>(content_class) << ContentsWord::kClassShift |
                                          unwritten_bytes << ContentsWord::kUnwrittenShift,
                                      address, digest};
  if (stamped) words.push_back(stamp);
  commit(state, words);
}

void SpoolBuilder::named(std::uint32_t thread, std::uint64_t stamp, Op op, std::uint64_t value, std::string_view name,
                         std::uint64_t flags) {
  Thread& state = room(thread, 3, stamp);
  const std::uint64_t bits = NamedWord::of(add_string(name)) | flags;
  commit(state, {static_cast<std::uint64_t>(op) | N0::kStamped | bits, value, stamp});
}

void SpoolBuilder::pool(std::uint32_t thread, std::uint64_t stamp, Op op, std::uint64_t word, std::uint64_t bytes,
                        const std::vector<std::uint32_t>& stack) {
  Thread& state = room(thread, 5 + stack.size() / 2, stamp);
  std::vector<std::uint64_t> words{static_cast<std::uint64_t>(op), word, bytes};
  if (stamp != kUnstamped) {
    words[0] |= W0::kStamped;
    words.push_back(stamp);
  }
  words[0] |= frames(state, stack, words);
  commit(state, words);
}

void SpoolBuilder::close_chunk(std::uint32_t thread) {
  Thread& state = threads_[thread];
  if (!state.has_chunk) return;
  control(state.chunk).state = ChunkState::Full;
  header().full_chunks += 1;
  state.has_chunk = false;
}

void SpoolBuilder::end(std::uint64_t stamp) {
  for (auto& [thread, state] : threads_) close_chunk(thread);
  header().end_stamp = stamp;
  header().flags |= kSpoolEnded;
}

}  // namespace tare::test
