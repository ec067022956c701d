// A spool read the simple way, for tests: raw words to events, events replayed by their stamps.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trace/spool/spool_event.h"
#include "trace/spool/spool_layout.h"

namespace tare::test {

struct ChunkCopy {
  std::uint32_t thread = 0;
  std::uint64_t serial = 0;
  std::uint64_t first_event = 0;
  std::uint64_t open_stamp = 0;
  bool open = false;  // still open when it was copied
  std::vector<std::uint64_t> words;
};

struct RawEvent {
  trace::Op op{};
  std::uint8_t api = 0;
  std::uint8_t align_log2 = 0;
  bool stamped = false;
  bool truncated = false;
  std::uint32_t depth = 0;
  std::uint32_t top_row = 0;  // innermost frame
  std::uint64_t stamp = 0;    // of a realloc: before
  std::uint64_t after = 0;    // of a realloc
  std::uint64_t address = 0;
  std::uint64_t requested = 0;  // of a map: length
  std::uint64_t usable = 0;
  std::uint64_t old = 0;         // of a map: old address
  std::uint64_t old_length = 0;  // of contents: unwritten bytes
  std::uint64_t value = 0;       // of a note; of contents: the digest
  double weight = 1;
};

struct ThreadEvents {
  std::uint32_t thread = 0;
  std::vector<RawEvent> events;
};

struct Replayed {
  std::uint64_t allocs = 0;  // incl. reallocs
  std::uint64_t frees = 0;
  std::uint64_t reallocs = 0;
  std::uint64_t impossible = 0;       // a block began where one is live
  std::uint64_t unknown_frees = 0;    // of a block never seen
  std::uint64_t dropped = 0;          // as the notes in the streams say
  std::uint64_t backward_stamps = 0;  // within a thread
  std::map<std::uint64_t, RawEvent> live;
  std::uint64_t live_requested = 0;
};

// One process image.
struct SpoolImage {
  std::string path;
  std::vector<char> header_bytes;
  const trace::SpoolHeader& header() const { return *reinterpret_cast<const trace::SpoolHeader*>(header_bytes.data()); }
  std::vector<char> strings;
  std::vector<trace::ModuleEntry> modules;
  std::vector<std::uint64_t> rows;
  std::vector<ChunkCopy> chunks;

  std::string text(trace::StringRef ref) const;
  std::string module_path(std::uint32_t row) const;

  // Throws std::runtime_error for what can't be: gaps in serials or counts, words that make no event.
  std::vector<ThreadEvents> threads() const;
  Replayed replay() const;
};

// Header, tables and all chunks in use (Open, Full or Held) of a spool file.
SpoolImage read_spool(const std::string& path);
// Only the tables: the chunks were drained.
void read_tables(SpoolImage& image, int fd);

}  // namespace tare::test
