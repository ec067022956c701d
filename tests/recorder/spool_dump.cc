// Reading, decoding and replaying spools for tests.
#include "spool_dump.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace tare::test {

namespace {

void read_at(int fd, void* to, std::size_t bytes, std::uint64_t offset) {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got = pread(fd, static_cast<char*>(to) + done, bytes - done, static_cast<off_t>(offset + done));
    if (got <= 0) throw std::runtime_error("short read");
    done += static_cast<std::size_t>(got);
  }
}

class Cursor {
 public:
  explicit Cursor(const ChunkCopy& chunk) : words_(chunk.words), last_stamp_(chunk.open_stamp) {}
  bool at_end() const { return at_ == words_.size(); }

  RawEvent next() {
    RawEvent event;
    const std::uint64_t word0 = take();
    event.op = trace::op_of(word0);
    event.stamped = (word0 & 32) != 0;
    switch (event.op) {
      case trace::Op::Alloc:
      case trace::Op::Realloc:
      case trace::Op::Map:
        take_block(event, word0);
        break;
      case trace::Op::Free:
        event.api = static_cast<std::uint8_t>(word0 >> trace::F0::kApiShift & trace::F0::kApiMask);
        event.address = word0 >> trace::F0::kAddressShift;
        take_stamp(event);
        if ((word0 & trace::F0::kStack) != 0) take_frames(event, take());
        break;
      case trace::Op::ThreadStart:
      case trace::Op::ThreadEnd:
      case trace::Op::Fork:
      case trace::Op::Exec:
      case trace::Op::Dropped:
      case trace::Op::Mark:
      case trace::Op::Usable:
      case trace::Op::Seen:
      case trace::Op::CallCost:
        event.value = take();
        take_stamp(event);
        break;
      case trace::Op::FailedRequest: {
        const std::uint64_t word1 = take();
        event.align_log2 = static_cast<std::uint8_t>(word1 >> trace::W1::kAlignShift & trace::W1::kAlignMask);
        event.api = static_cast<std::uint8_t>(word1 >> trace::W1::kApiShift & trace::W1::kApiMask);
        event.requested = take();
        take_stamp(event);
        take_frames(event, word0);
        break;
      }
      case trace::Op::Contents:
        event.api =
            static_cast<std::uint8_t>(word0 >> trace::ContentsWord::kClassShift & trace::ContentsWord::kClassMask);
        event.old_length = word0 >> trace::ContentsWord::kUnwrittenShift & trace::ContentsWord::kUnwrittenMask;
        event.address = take();
        event.value = take();
        take_stamp(event);
        break;
      default:
        throw std::runtime_error("unknown op " + std::to_string(static_cast<int>(event.op)));
    }
    return event;
  }

 private:
  std::uint64_t take() {
    if (at_ >= words_.size()) throw std::runtime_error("an event runs over the end of its chunk");
    return words_[at_++];
  }
  void take_stamp(RawEvent& event) {
    if (event.stamped) last_stamp_ = take();
    event.stamp = event.after = last_stamp_;
  }
  void take_block(RawEvent& event, std::uint64_t word0) {
    const std::uint64_t word1 = take();
    event.address = word1 & trace::W1::kAddressMask;
    event.align_log2 = static_cast<std::uint8_t>(word1 >> trace::W1::kAlignShift & trace::W1::kAlignMask);
    event.api = static_cast<std::uint8_t>(word1 >> trace::W1::kApiShift & trace::W1::kApiMask);
    event.requested = take();
    event.usable = event.requested + (word0 >> trace::W0::kSlopShift & trace::W0::kSlopMask);
    if (event.op != trace::Op::Map && (word0 & trace::W0::kUsableWord) != 0) event.usable = take();
    if ((word1 & trace::W1::kWeighted) != 0) {
      const std::uint64_t bits = take();
      std::memcpy(&event.weight, &bits, sizeof(bits));
    }
    take_stamp(event);
    if (event.op == trace::Op::Realloc) {
      if (event.stamped) event.after = last_stamp_ = take();
      event.old = take();
    }
    if (event.op == trace::Op::Map) {
      if (event.stamped && (word0 & trace::W0::kStampBefore) != 0) event.after = last_stamp_ = take();
      event.old = take();
      event.old_length = take();
    }
    event.truncated = (word0 & trace::W0::kTruncated) != 0;
    take_frames(event, word0);
  }
  void take_frames(RawEvent& event, std::uint64_t word) {
    const std::size_t kept = word >> trace::W0::kKeptShift & trace::W0::kCountMask;
    const std::size_t fresh = word >> trace::W0::kFreshShift & trace::W0::kCountMask;
    if (kept > stack_.size()) throw std::runtime_error("more frames kept than there were");
    std::vector<std::uint32_t> frames;
    for (std::size_t i = 0; i < fresh; i += 2) {
      const std::uint64_t two = take();
      frames.push_back(static_cast<std::uint32_t>(two));
      if (i + 1 < fresh) frames.push_back(static_cast<std::uint32_t>(two >> 32));
    }
    stack_.resize(kept);  // outermost first
    stack_.insert(stack_.end(), frames.rbegin(), frames.rend());
    event.depth = static_cast<std::uint32_t>(stack_.size());
    event.top_row = stack_.empty() ? 0 : stack_.back();
  }

  const std::vector<std::uint64_t>& words_;
  std::size_t at_ = 0;
  std::uint64_t last_stamp_;
  std::vector<std::uint32_t> stack_;
};

// The events of replay: a realloc is an end and a beginning.
struct Step {
  std::uint64_t stamp;
  bool begins;
  bool ends;
  const RawEvent* event;
};

}  // namespace

std::string SpoolImage::text(trace::StringRef ref) const {
  if (ref.offset + std::uint64_t{ref.length} > strings.size()) throw std::runtime_error("string out of the pool");
  return std::string(strings.data() + ref.offset, ref.length);
}

std::string SpoolImage::module_path(std::uint32_t row) const {
  const std::uint64_t module = rows.at(row) >> 48;
  return module == 0xffff ? "" : text(modules.at(module).path);
}

std::vector<ThreadEvents> SpoolImage::threads() const {
  std::vector<const ChunkCopy*> sorted;
  for (const ChunkCopy& chunk : chunks) sorted.push_back(&chunk);
  std::sort(sorted.begin(), sorted.end(), [](const ChunkCopy* a, const ChunkCopy* b) {
    return a->thread != b->thread ? a->thread < b->thread : a->serial < b->serial;
  });
  std::vector<ThreadEvents> all;
  std::uint64_t serial = 0;
  for (const ChunkCopy* chunk : sorted) {
    if (all.empty() || all.back().thread != chunk->thread) {
      all.emplace_back();
      all.back().thread = chunk->thread;
      serial = 0;
    }
    std::vector<RawEvent>& events = all.back().events;
    const std::string where = "thread " + std::to_string(chunk->thread) + ", chunk " + std::to_string(chunk->serial);
    if (chunk->serial != serial++) throw std::runtime_error(where + ": a chunk before it is missing");
    if (chunk->first_event != events.size()) {
      throw std::runtime_error(where + ": says " + std::to_string(chunk->first_event) +
                               " events before it, there are " + std::to_string(events.size()));
    }
    Cursor cursor(*chunk);
    while (!cursor.at_end()) events.push_back(cursor.next());
  }
  return all;
}

Replayed SpoolImage::replay() const {
  const std::vector<ThreadEvents> all = threads();
  Replayed result;
  std::vector<std::vector<Step>> streams;
  for (const ThreadEvents& thread : all) {
    std::vector<Step>& steps = streams.emplace_back();
    std::uint64_t last = 0;
    for (const RawEvent& event : thread.events) {
      if (event.stamp < last || event.after < event.stamp) ++result.backward_stamps;
      last = event.after;
      switch (event.op) {
        case trace::Op::Alloc:
          steps.push_back({event.stamp, true, false, &event});
          break;
        case trace::Op::Free:
          steps.push_back({event.stamp, false, true, &event});
          break;
        case trace::Op::Realloc:
          steps.push_back({event.stamp, false, true, &event});
          steps.push_back({event.after, true, false, &event});
          break;
        case trace::Op::Dropped:
          result.dropped += event.value;
          break;
        default:
          break;
      }
    }
  }
  std::vector<std::size_t> at(streams.size(), 0);
  while (true) {
    std::size_t best = streams.size();
    for (std::size_t i = 0; i < streams.size(); ++i) {
      if (at[i] == streams[i].size()) continue;
      if (best == streams.size()) {
        best = i;
        continue;
      }
      const Step& mine = streams[i][at[i]];
      const Step& other = streams[best][at[best]];
      if (mine.stamp < other.stamp || (mine.stamp == other.stamp && mine.ends && !other.ends)) best = i;
    }
    if (best == streams.size()) break;
    const Step& step = streams[best][at[best]++];
    const RawEvent& event = *step.event;
    if (step.ends) {
      const std::uint64_t address = event.op == trace::Op::Realloc ? event.old : event.address;
      if (event.op == trace::Op::Free) ++result.frees;
      if (result.live.erase(address) == 0) ++result.unknown_frees;
    } else {
      ++result.allocs;
      if (event.op == trace::Op::Realloc) ++result.reallocs;
      if (!result.live.emplace(event.address, event).second) {
        ++result.impossible;
        result.live[event.address] = event;
      }
    }
  }
  for (const auto& [address, event] : result.live) result.live_requested += event.requested;
  return result;
}

void read_tables(SpoolImage& image, int fd) {
  image.header_bytes.resize(4096);
  read_at(fd, image.header_bytes.data(), 4096, 0);
  const trace::SpoolHeader& header = image.header();
  image.strings.resize(header.string_bytes.load());
  image.modules.resize(header.module_count.load());
  image.rows.resize(header.row_count.load());
  read_at(fd, image.strings.data(), image.strings.size(), trace::kStrings);
  read_at(fd, image.modules.data(), image.modules.size() * sizeof(trace::ModuleEntry), trace::kModules);
  read_at(fd, image.rows.data(), image.rows.size() * 8, trace::kRows);
}

SpoolImage read_spool(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw std::runtime_error("can't open " + path);
  SpoolImage image;
  image.path = path;
  read_tables(image, fd);
  const std::uint32_t count = image.header().chunk_count.load();
  for (std::uint32_t i = 0; i < count; ++i) {
    alignas(trace::ChunkControl) char bytes[sizeof(trace::ChunkControl)];
    read_at(fd, bytes, sizeof(bytes), trace::kControls + i * sizeof(bytes));
    const auto& control = *reinterpret_cast<const trace::ChunkControl*>(bytes);
    if (control.state.load() == trace::ChunkState::Free) continue;
    ChunkCopy chunk;
    chunk.thread = control.thread;
    chunk.serial = control.thread_chunk;
    chunk.first_event = control.first_event;
    chunk.open_stamp = control.open_stamp;
    chunk.open = control.state.load() == trace::ChunkState::Open;
    chunk.words.resize(control.committed.load() / 8);
    read_at(fd, chunk.words.data(), chunk.words.size() * 8, trace::chunk_offset(i));
    image.chunks.push_back(std::move(chunk));
  }
  close(fd);
  return image;
}

}  // namespace tare::test
