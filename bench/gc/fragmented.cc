// A heap of which a random tenth is left: what of it stays resident, as it is, trimmed, and compacted.
//
// 400,000 rows with 1 to 60 numbers each, in a vector that has grown with them; about 90 MB. Those that live lie
// everywhere between the others.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "dom.h"
#include "programs.h"

#if defined(TARE_BENCH_TARE)
#include "tare/gc/heap_vector.h"
#elif defined(TARE_BENCH_NATIVE)
#include <malloc.h>
#endif

namespace tare::bench {

#if !defined(TARE_BENCH_TARE) && !defined(TARE_BENCH_NATIVE)

void fragmented(Report&) {}

#else

namespace {

constexpr std::size_t kRows = 400'000;

#if defined(TARE_BENCH_TARE)

struct Row : Collector::Base<Row> {
  TARE_BENCH_TRACE(numbers)
  void add(std::uint32_t n) {
    if (!numbers.push_back(Collector::heap(), n)) std::abort();
  }
  gc::HeapVector<std::uint32_t, BenchGroup> numbers;
};
using Kept = gc::Persistent<Row>;

Row* make_row() { return Collector::make<Row>(); }
void collect() {
  Collector::collect();
  Collector::heap().finish_sweeping();
}
void trim() { Collector::heap().trim(); }
void compact() {
  static_cast<void>(Collector::heap().compact(gc::StackState::HoldsNone));
  trim();
}

#else

struct Row {
  void add(std::uint32_t n) { numbers.push_back(n); }
  std::vector<std::uint32_t> numbers;
};
using Kept = std::unique_ptr<Row>;

Row* make_row() { return new Row; }
void collect() {}
void trim() { malloc_trim(0); }
void compact() { malloc_trim(0); }

#endif

[[gnu::noinline]] std::vector<Kept> fill() {
  std::mt19937 random(12);
  std::vector<Kept> rows;
  rows.reserve(kRows);
  for (std::size_t i = 0; i < kRows; ++i) {
    rows.emplace_back(make_row());
    for (auto left = static_cast<std::uint32_t>(1 + random() % 60); left > 0; --left) rows.back()->add(left);
  }
  return rows;
}

[[gnu::noinline]] void drop_most(std::vector<Kept>& rows) {
  std::mt19937 random(13);
  for (Kept& row : rows) {
    if (random() % 10 != 0) row = nullptr;
  }
}

}  // namespace

void fragmented(Report& report) {
  Collector::begin(Collecting::ByHand);
  std::vector<Kept> rows = fill();
  const auto add_rss = [&](const char* name) {
    report.add(name, Collector::kSubject, "rss", static_cast<double>(resident_bytes()), "bytes");
  };
  add_rss("fragmented/full");
  drop_most(rows);
  collect();
  add_rss("fragmented/dropped");
  trim();
  add_rss("fragmented/trimmed");
  const double begin = cpu_ns();
  compact();
  report.add("fragmented/compact", Collector::kSubject, "time", cpu_ns() - begin, "ns");
  add_rss("fragmented/compacted");
  std::uint64_t sum = 0;
  for (const Kept& row : rows) {
    if (!row) continue;
    for (const std::uint32_t n : row->numbers) sum += n;
  }
  keep(sum);
}

#endif

}  // namespace tare::bench
