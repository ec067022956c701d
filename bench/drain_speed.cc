// What the launcher does with a spool while a program runs, from a spool that lies there: decoding, replay, encoding
// and writing of one thread's chunks after the other. Nanoseconds a call of each step, and bytes on disk.
//   drain-speed FILE.spool [decode|replay|encode|all]   the steps up to there; a spool is left by TARE_SPOOL_DIR
//   without `tare run`
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <ctime>
#include <map>
#include <vector>

#include "core/tables/replay.h"
#include "trace/file/trace_writer.h"
#include "trace/open/block_packer.h"
#include "trace/spool/spool_file.h"

namespace {

using namespace tare;

double cpu_s() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Adds the CPU time of its life to a step.
class Timed {
 public:
  explicit Timed(double& step) : step_(step), start_(cpu_s()) {}
  ~Timed() { step_ += cpu_s() - start_; }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  double& step_;
  double start_;
};

struct Steps {
  double decode = 0, replay = 0, encode = 0, dictionary = 0, write = 0, tables = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const char* const last = argc > 2 ? argv[2] : "all";
  const bool replays = std::strcmp(last, "replay") == 0 || std::strcmp(last, "all") == 0;
  const bool encodes = std::strcmp(last, "encode") == 0 || std::strcmp(last, "all") == 0;
  const auto spool = trace::SpoolFile::open(argv[1]);
  if (!spool) return std::fprintf(stderr, "%s\n", spool.error().message.c_str()), 1;
  const auto counts = spool->counts();
  const auto chunks = spool->chunks(*counts);
  const auto info = spool->process();
  if (!chunks || !info) return 1;
  std::uint32_t most = 0;
  for (const trace::ChunkFacts& chunk : *chunks) most = std::max(most, chunk.chunk + 1);
  const std::uint64_t mapped_bytes = trace::chunk_offset(most);
  const void* const mapped = ::mmap(nullptr, mapped_bytes, PROT_READ, MAP_SHARED, spool->descriptor(), 0);
  if (mapped == MAP_FAILED) return 1;
  const std::string path = "/tmp/drain-speed." + std::to_string(::getpid()) + ".tare";
  auto writer = trace::TraceWriter::create(path);
  if (!writer) return std::fprintf(stderr, "%s\n", writer.error().message.c_str()), 1;

  Steps steps;
  trace::Dictionary dictionary;
  trace::SpoolDecoder decoder(dictionary);
  trace::EventBlockEncoder encoder;
  core::Replay replay(dictionary, *info);
  std::map<std::uint32_t, trace::BlockPacker> packers;
  std::uint32_t used_shapes = 0;
  std::uint64_t calls = 0;
  const auto end_block = [&](trace::BlockPacker& packer) {
    for (const trace::Event& event : std::span<const trace::Event>(packer.pending)) {
      calls += event.kind < trace::EventKind::ThreadStart && event.kind != trace::EventKind::ReallocEnd;
    }
    if (!encodes) return packer.pending.clear();
    std::span<const std::uint8_t> payload;
    {
      const Timed timed(steps.encode);
      payload = packer.pack(encoder, dictionary, used_shapes);
    }
    {
      const Timed timed(steps.dictionary);
      writer->put_growth(dictionary);
    }
    const Timed timed(steps.write);
    writer->put_events(payload);
    (void)writer->flush();
  };
  for (const trace::ChunkFacts& chunk : *chunks) {
    trace::BlockPacker& packer = packers[chunk.thread];
    packer.thread = chunk.thread;
    packer.decode.thread = static_cast<std::uint16_t>(chunk.thread);
    packer.decode.open_chunk(chunk.first_event, chunk.open_stamp);
    const std::size_t before = packer.pending.size();
    {
      const Timed timed(steps.decode);
      if (const Status status = spool->grow(*counts, dictionary); !status) return 1;
      const auto* const words = static_cast<const std::uint64_t*>(mapped) + trace::chunk_offset(chunk.chunk) / 8;
      (void)decoder.decode(packer.decode, {words, chunk.committed / 8}, packer.pending);
    }
    if (replays) {
      const Timed timed(steps.replay);
      replay.consume({packer.pending.data() + before, packer.pending.size() - before});
    }
    if (packer.pending.size() >= trace::kBlockEvents) end_block(packer);
  }
  for (auto& [thread, packer] : packers) {
    if (!packer.pending.empty()) end_block(packer);
  }
  const double n = static_cast<double>(calls);
  const auto ns = [&](double seconds) { return seconds * 1e9 / n; };
  const double sum = steps.decode + steps.replay + steps.encode + steps.dictionary + steps.write;
  std::printf(
      "%.0f calls, %zu stacks, %zu shapes; ns a call: decode %.1f replay %.1f encode %.1f dictionary %.1f write %.1f, "
      "all %.1f = %.3f s; %.3f bytes a call, replay holds %.1f MB\n",
      n, dictionary.stacks.size(), dictionary.shapes.size(), ns(steps.decode), ns(steps.replay), ns(steps.encode),
      ns(steps.dictionary), ns(steps.write), ns(sum), sum, static_cast<double>(writer->file_bytes()) / n,
      static_cast<double>(replay.memory_bytes()) / 1e6);
  ::unlink(path.c_str());
}
