// Speed and memory of replay: events a second of CPU, resident bytes. Prints one JSON object.
//   replay-speed [MILLION_EVENTS] [LIVE_BLOCKS]   a made-up stream, without reading it from anywhere
//   replay-speed FILE.tare                        a recording: decoding, merging and replay, all the way to the tables
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include "core/tables/replay.h"
#include "trace/open/open_trace.h"

namespace {

using namespace tare;

constexpr std::uint64_t kSizes = 32;
constexpr std::uint32_t kStacks = 4000;

// xorshift64*: the stream must cost less than what is measured.
struct Random {
  std::uint64_t state = 88172645463325252ull;
  std::uint64_t next() {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 2685821657736338717ull;
  }
  std::uint64_t below(std::uint64_t n) { return (next() >> 32) * n >> 32; }
};

// An allocator as simple as they come: last freed first used, by size, else new memory at the end.
class Heap {
 public:
  std::uint64_t take(std::uint64_t size) {
    auto& freed = freed_[size];
    if (!freed.empty()) {
      const std::uint64_t address = freed.back();
      freed.pop_back();
      return address;
    }
    const std::uint64_t address = end_;
    end_ += (size + 1) * 16 + 16;
    return address;
  }
  void give(std::uint64_t address, std::uint64_t size) { freed_[size].push_back(address); }

 private:
  std::vector<std::uint64_t> freed_[kSizes];
  std::uint64_t end_ = 0x555555600010;
};

struct Block {
  std::uint64_t address;
  std::uint32_t size;
};

// Of the blocks that end, three of four are among the last 64 made, and one is any: what cc1plus and CPython show.
class Stream {
 public:
  explicit Stream(std::uint64_t live) : target_(live) {}

  void fill(std::vector<trace::Event>& events, std::size_t count) {
    events.clear();
    while (events.size() < count) {
      const bool grow = live_.size() < target_ && (random_.next() >> 62) != 0;
      if (grow || live_.empty() || (random_.next() >> 63)) {
        const auto size = static_cast<std::uint32_t>(random_.below(random_.below(kSizes) + 1));
        const auto stack = random_.below(random_.below(kStacks) + 1);
        const std::uint64_t address = heap_.take(size);
        live_.push_back({address, size});
        put(events, trace::EventKind::Alloc, address, static_cast<trace::ShapeId>(stack * kSizes + size));
      } else {
        const bool young = (random_.next() >> 62) != 0;
        const std::size_t back =
            young ? random_.below(std::min<std::size_t>(64, live_.size())) : random_.below(live_.size());
        std::swap(live_[live_.size() - 1 - back], live_.back());
        const Block block = live_.back();
        live_.pop_back();
        heap_.give(block.address, block.size);
        put(events, trace::EventKind::Free, block.address, trace::kNoShape);
      }
    }
  }

 private:
  void put(std::vector<trace::Event>& events, trace::EventKind kind, std::uint64_t address, trace::ShapeId shape) {
    events.push_back({stamp_ += 64, address, shape, 0, kind, 0});
  }

  std::uint64_t target_;
  Random random_;
  Heap heap_;
  std::vector<Block> live_;
  std::uint64_t stamp_ = 1'000'000;
};

trace::Dictionary dictionary() {
  trace::Dictionary made;
  made.stacks.push_back({});
  made.rows.push_back(0x555555555000);
  for (std::uint32_t stack = 0; stack < kStacks; ++stack) {
    made.stacks.push_back({static_cast<trace::StackId>(stack / 2), trace::RowId{0}});
    for (std::uint64_t size = 0; size < kSizes; ++size) {
      made.shapes.push_back({static_cast<trace::StackId>(stack + 1), trace::AllocApi::Malloc, 0, 0, 0, size * 16 + 20,
                             size * 16 + 24, 1.0});
    }
  }
  return made;
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void print(double events, double seconds, double finish_seconds, std::uint64_t held, const core::Tables& tables) {
  const core::Table& process = tables["process"];
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "{\"events\": %.0f, \"impossible\": %lld, \"events_per_second\": %.0f, \"finish_seconds\": %.4f, "
      "\"peak_blocks\": %lld, \"shapes\": %zu, \"replay_bytes\": %llu, \"process_rss_bytes\": %ld}\n",
      events, static_cast<long long>(process["impossible_events"].ints[0]), events / seconds, finish_seconds,
      static_cast<long long>(process["peak_blocks"].ints[0]), tables["site_sizes"].rows(),
      static_cast<unsigned long long>(held), usage.ru_maxrss * 1024);
}

int replay_file(const char* path) {
  const double start = cpu_seconds();
  const auto opened = trace::open_trace(path);
  if (!opened) {
    std::fprintf(stderr, "%s\n", opened.error().message.c_str());
    return 1;
  }
  core::Replay replay(opened->dictionary(), opened->info());
  const Status status = opened->replay_into(replay);
  if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  const double replayed = cpu_seconds();
  const auto events = static_cast<double>(opened->event_count());
  const std::uint64_t held = replay.memory_bytes();
  const core::Tables tables = replay.finish(opened->clock_pairs());
  print(events, cpu_seconds() - start, cpu_seconds() - replayed, held, tables);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strstr(argv[1], ".tare")) return replay_file(argv[1]);
  const std::uint64_t millions = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20;
  const std::uint64_t live = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 100'000;
  const trace::Dictionary names = dictionary();
  trace::ProcessInfo info;
  info.allocator = trace::AllocatorKind::Glibc;
  core::Replay replay(names, info);
  Stream stream(live);
  std::vector<trace::Event> events;
  double seconds = 0;
  std::uint64_t replayed = 0;
  while (replayed < millions * 1'000'000) {
    stream.fill(events, 1 << 16);
    const double start = cpu_seconds();
    replay.consume(events);
    seconds += cpu_seconds() - start;
    replayed += events.size();
  }
  const std::uint64_t held = replay.memory_bytes();
  const double start = cpu_seconds();
  const trace::ClockPair clock[] = {{0, 0}, {1'000'000'000'000, 1'000'000'000'000}};
  const core::Tables tables = replay.finish(clock);
  print(static_cast<double>(replayed), seconds, cpu_seconds() - start, held, tables);
}
