// Fills every pool of the library, has all of them report, and prints what it comes to: "heap PATH BYTES",
// "mapped PATH BYTES", "pool NAME COMMITTED USED". All that it allocates between two marker blocks of 7,777 bytes
// belongs to the pools.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>

#include "tare/arena.h"
#include "tare/atom_table.h"
#include "tare/buffer.h"
#include "tare/bytes.h"
#include "tare/cage.h"
#include "tare/memory_reporter.h"
#include "tare/text_stream.h"

namespace {

constexpr std::size_t kMarkerBytes = 7777;
tare::Atom kept_atoms[2500];

struct Pools {
  tare::AtomTable atoms;
  tare::Arena plain{{}};
  tare::Arena told{tare::ArenaOptions{.name = "told"}};
  tare::CageResult<tare::Cage> cage = tare::Cage::reserve({.size_bytes = std::size_t{1} << 30});
  tare::Buffer<int> buffer;
  tare::TextStream stream;
  tare::Bytes shared;
  tare::Bytes adopted;
};

void fill(Pools& pools) {
  for (int i = 0; i < 5000; ++i) {
    char text[32];
    const int length = std::snprintf(text, sizeof text, "%s-%d", i % 3 == 0 ? "n" : "a-longer-name", i);
    tare::Atom atom = pools.atoms.intern({text, static_cast<std::size_t>(length)});
    if (i % 2 == 0) kept_atoms[i / 2] = std::move(atom);
  }
  for (std::size_t i = 1; i < 3000; ++i) {
    if (pools.plain.allocate(i % 100 + 1) == nullptr || pools.told.allocate(i % 200 + 1, 8) == nullptr) std::abort();
  }
  static_cast<void>(pools.plain.allocate(300'000));  // a chunk of its own
  for (int i = 0; i < 1000; ++i) {
    if (!pools.buffer.append(i)) std::abort();
    pools.stream.print("%d ", i);
  }
  pools.shared = tare::Bytes::copy_of_text("eighteen characters");
  pools.adopted = tare::Bytes::adopt_malloced(std::malloc(5000), 5000);
  if (!pools.cage) std::abort();
  auto run = pools.cage.value().allocate(100'000);
  if (!run) std::abort();
  pools.cage.value().free(run.value(), tare::FreedPages::Keep);
}

}  // namespace

int main() {
  alignas(Pools) static unsigned char place[sizeof(Pools)];
  // Volatile: clang leaves out a block that nothing uses.
  void* volatile const first = std::malloc(kMarkerBytes);
  Pools& pools = *new (place) Pools;
  fill(pools);
  void* volatile const last = std::malloc(kMarkerBytes);
  // NOLINTNEXTLINE(clang-analyzer-unix.Malloc): live until the end, as marks
  if (first == nullptr || last == nullptr) return 1;

  tare::ReporterRegistry& registry = tare::ReporterRegistry::process();
  // NOLINTNEXTLINE(clang-analyzer-deadcode.DeadStores): they end with main
  const tare::ReporterHandle handles[] = {
      registry.add("explicit/atoms", [&](tare::ReportSink& sink) { pools.atoms.report(sink); }),
      registry.add("explicit/arenas/plain", [&](tare::ReportSink& sink) { pools.plain.report(sink); }),
      registry.add("explicit/arenas/told", [&](tare::ReportSink& sink) { pools.told.report(sink); }),
      registry.add("explicit/cage", [&](tare::ReportSink& sink) { pools.cage.value().report(sink); }),
      registry.add({"explicit/texts/buffer", tare::ReportKind::Heap, tare::ReportUnits::Bytes, ""},
                   [&](tare::SizeOf size_of) { return pools.buffer.size_of_excluding_this(size_of); }),
      registry.add({"explicit/texts/stream", tare::ReportKind::Heap, tare::ReportUnits::Bytes, ""},
                   [&](tare::SizeOf size_of) { return pools.stream.size_of_excluding_this(size_of); }),
      registry.add("explicit/texts/bytes", [&](tare::ReportSink& sink) {
        const tare::SizeOf size_of = sink.size_of("");
        sink.heap("", pools.shared.size_of_excluding_this(size_of) + pools.adopted.size_of_excluding_this(size_of), "");
      })};
  static_cast<void>(registry.collect());  // a round before: its reports are cleared
  const tare::MemorySnapshot snapshot = registry.collect();
  for (const tare::MemoryReport& report : snapshot.reports) {
    if (report.kind == tare::ReportKind::Other) continue;
    std::printf("%s %s %lld\n", report.kind == tare::ReportKind::Heap ? "heap" : "mapped", report.path.c_str(),
                static_cast<long long>(report.amount));
  }
  for (const std::string& problem : snapshot.problems) std::printf("problem %s 0\n", problem.c_str());
  const tare::ArenaUse told = pools.told.use();
  std::printf("pool told/committed %zu\npool told/headers %zu\npool told/slack %zu\n", told.committed_bytes,
              told.header_bytes, told.slack_bytes);
  std::fflush(stdout);
  std::_Exit(0);  // with everything alive
}
