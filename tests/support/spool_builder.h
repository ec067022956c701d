// Writes spool files by hand, as the recorder would: for tests, benches and fuzz seeds that need known events.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trace/model/content_digest.h"
#include "trace/spool/spool_event.h"
#include "trace/spool/spool_layout.h"

namespace tare::test {

struct SpoolFacts {
  std::uint32_t pid = 4711;
  std::uint32_t parent_pid = 4710;
  std::uint32_t image_index = 0;
  std::string exe = "/usr/bin/example";
  std::vector<std::string> command_line = {"example", "--flag"};
  std::string cwd = "/tmp";
  trace::AllocatorKind allocator = trace::AllocatorKind::Glibc;
  std::uint64_t start_realtime_ns = 1'700'000'000'000'000'000;
  std::uint64_t start_monotonic_ns = 5'000'000'000;
  std::uint64_t start_stamp = 1'000'000;
  std::uint32_t flags = trace::kSpoolStandalone;
  std::uint64_t sample_bytes = 0;
};

// How an allocation is described; `stack` holds row ids, innermost first.
struct AllocCall {
  std::uint64_t address = 0;
  std::uint64_t requested_bytes = 0;
  std::uint64_t usable_bytes = 0;
  std::vector<std::uint32_t> stack;
  trace::AllocApi api = trace::AllocApi::Malloc;
  int align_log2 = 0;
  double weight = 1;
};

inline constexpr std::uint64_t kUnstamped = 0;

class SpoolBuilder {
 public:
  // Creates (or truncates) the sparse file at `path`. Aborts where that fails: a test can't go on.
  explicit SpoolBuilder(std::string path, SpoolFacts facts = {});
  ~SpoolBuilder();
  SpoolBuilder(const SpoolBuilder&) = delete;
  SpoolBuilder& operator=(const SpoolBuilder&) = delete;

  std::uint32_t add_module(std::string_view module_path, std::uint64_t start, std::uint64_t end);
  std::uint32_t add_row(std::uint64_t address, std::uint32_t module = 0xffff);

  // Stamps are ticks; kUnstamped leaves the stamp out.
  void alloc(std::uint32_t thread, std::uint64_t stamp, const AllocCall& call);
  void free(std::uint32_t thread, std::uint64_t stamp, std::uint64_t address,
            trace::FreeApi api = trace::FreeApi::Free);
  void free_with_stack(std::uint32_t thread, std::uint64_t stamp, std::uint64_t address,
                       const std::vector<std::uint32_t>& stack);
  void realloc(std::uint32_t thread, std::uint64_t stamp_before, std::uint64_t stamp_after, std::uint64_t old_address,
               const AllocCall& call);
  void map(std::uint32_t thread, std::uint64_t stamp, trace::MapApi api, std::uint64_t address, std::uint64_t length,
           std::uint64_t old_address, std::uint64_t old_length, const std::vector<std::uint32_t>& stack);
  void note(std::uint32_t thread, std::uint64_t stamp, trace::Op op, std::uint64_t value);

  // Contents: before the free or realloc that ends the block.
  void contents(std::uint32_t thread, std::uint64_t stamp, std::uint64_t address, std::uint64_t unwritten_bytes,
                trace::ContentClass content_class, std::uint64_t digest = 0);

  // Report (`value`: the address) or PoolCreate (the pool), with the name in the string pool once more.
  void named(std::uint32_t thread, std::uint64_t stamp, trace::Op op, std::uint64_t value, std::string_view name,
             std::uint64_t flags = 0);
  // PoolGrow or PoolAlloc; `word` is the address and the pool.
  void pool(std::uint32_t thread, std::uint64_t stamp, trace::Op op, std::uint64_t word, std::uint64_t bytes,
            const std::vector<std::uint32_t>& stack);

  // Marks the open chunk of a thread Full, as the recorder does when it takes the next one.
  void close_chunk(std::uint32_t thread);
  // Marks every open chunk Full and the spool as ended in order.
  void end(std::uint64_t stamp);

  // Each table lies in the head, as far as it fits, and as a whole in its region.
  trace::SpoolHeader& header() { return *reinterpret_cast<trace::SpoolHeader*>(base_); }
  trace::ChunkControl& control(std::uint32_t chunk);
  std::uint8_t* chunk(std::uint32_t index) { return base_ + trace::chunk_offset(index); }
  std::uint64_t events() const { return events_; }

 private:
  struct Thread {
    bool has_chunk = false;
    std::uint32_t chunk = 0;
    std::uint64_t chunks = 0;
    std::uint64_t events = 0;
    std::vector<std::uint32_t> stack;  // of the previous event in this chunk, innermost first
  };
  trace::StringRef add_string(std::string_view text);
  // Makes room for `words` in the thread's chunk, opening a new one where needed.
  Thread& room(std::uint32_t thread, std::uint64_t words, std::uint64_t stamp);
  void commit(Thread& thread, const std::vector<std::uint64_t>& words);
  // Appends frames to `words` and gives kept and fresh as word 0 has them.
  std::uint64_t frames(Thread& thread, const std::vector<std::uint32_t>& stack, std::vector<std::uint64_t>& words);

  std::string path_;
  int fd_ = -1;
  std::uint8_t* base_ = nullptr;
  std::map<std::uint32_t, Thread> threads_;
  std::uint64_t events_ = 0;
  std::uint64_t last_stamp_ = 0;
};

}  // namespace tare::test
