// An editor's session: a document of a million nodes stays, and much short-lived is made beside it.
//
// Each operation makes 31 boxes as a layout would, sums them up and lets go of them; every eighth leaves an element in
// the document in another's place, so that old objects get young ones to keep.
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "dom.h"
#include "programs.h"

namespace tare::bench {

#if defined(TARE_BENCH_NATIVE) || defined(TARE_BENCH_SHARED_PTR)

void session(Report&) {}

#else

namespace {

struct Box : Collector::Base<Box> {
  explicit Box(std::uint32_t w) : width(w) {}
  TARE_BENCH_TRACE(first, next)
  Collector::Link<Box> first, next;
  std::uint32_t width;
};

// A row of five boxes, each with five in it.
constexpr std::uint32_t kBoxes = 1 + 5 + 5 * 5;
Collector::Made<Box> lay_out(std::uint32_t width, int depth) {
  Collector::Made<Box> box = Collector::make<Box>(width);
  for (std::uint32_t i = 0; depth > 0 && i < 5; ++i) {
    Collector::Made<Box> part = lay_out(width + i, depth - 1);
    part->next = box->first;
    box->first = part;
  }
  return box;
}

std::uint64_t sum(const Box* box) {
  std::uint64_t all = box->width;
  for (const Box* part = raw(box->first); part != nullptr; part = raw(part->next)) all += sum(part);
  return all;
}

void list_all(Element* element, std::vector<Element*>& all) {
  for (Element* child = raw(element->first); child != nullptr; child = raw(child->next)) {
    all.push_back(child);
    list_all(child, all);
  }
}

[[gnu::noinline]] std::uint64_t operate(std::uint32_t n, const std::vector<Element*>& all, std::mt19937& random) {
  // A link back, which nobody else has then: what was there before dies.
  if (n % 8 == 0) all[random() % all.size()]->previous = Collector::make<Element>(n);
  return sum(&*lay_out(n, 2));
}

}  // namespace

void session(Report& report) {
  constexpr std::uint32_t kNodes = 1'000'000;
  constexpr std::uint32_t kOperations = 400'000;
  Collector::begin(Collecting::Automatic);
  const Collector::Root<Element> document = build(kNodes);
  std::vector<Element*> all;  // the tree keeps them
  list_all(&*document, all);
  std::mt19937 random(8);
  const double begin = process_cpu_s();
  std::uint64_t widths = 0;
  for (std::uint32_t n = 0; n < kOperations; ++n) widths += operate(n, all, random);
  keep(widths);
  const double cpu = process_cpu_s() - begin;
  report.add("session", Collector::kSubject, "cpu", cpu, "s");
  report.add("session", Collector::kSubject, "time", cpu * 1e9 / (double{kOperations} * kBoxes), "ns");
  report.add("session", Collector::kSubject, "rss", peak_rss_bytes(), "bytes");
}

#endif

}  // namespace tare::bench
