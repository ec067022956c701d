// How a program feels a collector that works beside it.
#include <time.h>

#include <algorithm>
#include <vector>

#include "dom.h"
#include "programs.h"

namespace tare::bench {

#if defined(TARE_BENCH_NATIVE) || defined(TARE_BENCH_SHARED_PTR)

void pause(Report&) {}
void mutate(Report&) {}

#else

namespace {

constexpr std::uint32_t kNodes = 1'000'000;

double wall_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// All elements but the document; the tree keeps them.
void list_all(Element* element, std::vector<Element*>& all) {
  for (Element* child = raw(element->first); child != nullptr; child = raw(child->next)) {
    all.push_back(child);
    list_all(child, all);
  }
}

// An element's link back becomes one that nobody else has: what was there dies.
[[gnu::noinline]] void replace(Element* at, std::uint32_t n) { at->previous = Collector::make<Element>(n); }

}  // namespace

void pause(Report& report) {
  Collector::begin(Collecting::BesideTheProgram);
  const Collector::Root<Element> document = build(kNodes);
  std::vector<Element*> all;
  list_all(&*document, all);
  std::mt19937 random(5);
  std::shuffle(all.begin(), all.end(), random);
  all.resize(100'000);  // so that what lives doesn't double
  constexpr std::uint32_t kRounds = 500'000;
  constexpr std::uint32_t kTogether = 16;  // asking for the thread's time takes 0.3 us
  double longest_cpu = 0;
  double longest_wall = 0;
  const double begin = cpu_ns();
  double cpu = begin;
  double wall = wall_ns();
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    for (std::uint32_t i = 0; i < kTogether; ++i) replace(all[random() % all.size()], i);
    const double cpu_then = cpu_ns();
    const double wall_then = wall_ns();
    longest_cpu = std::max(longest_cpu, cpu_then - cpu);
    longest_wall = std::max(longest_wall, wall_then - wall);
    cpu = cpu_then;
    wall = wall_then;
  }
  report.add("pause", Collector::kSubject, "time", longest_cpu, "ns");
  report.add("pause", Collector::kSubject, "wall", longest_wall * 1e-9, "s");
  report.add("pause/operation", Collector::kSubject, "time", (cpu - begin) / (kRounds * kTogether), "ns");
}

#if defined(TARE_BENCH_MARKS_ON_DEMAND)

namespace {

// Takes an element with all below it to another place, as its new parent's first.
void unlink(Element* element) {
  Element* previous = raw(element->previous);
  Element* next = raw(element->next);
  if (previous != nullptr) {
    previous->next = element->next;
  } else {
    element->parent->first = element->next;
  }
  if (next != nullptr) next->previous = element->previous;
}
void put_first(Element* element, Element* parent) {
  Element* first = raw(parent->first);
  element->parent = parent;
  element->previous = nullptr;
  element->next = first;
  if (first != nullptr) first->previous = element;
  parent->first = element;
}

}  // namespace

void mutate(Report& report) {
  constexpr std::size_t kOperations = 100'000;  // some 15 ms: less than marking takes
  constexpr int kRounds = 15;
  std::mt19937 random(6);
  const auto move_leaves = [&](const std::vector<Element*>& all) {
    const double begin = cpu_ns();
    for (std::size_t i = 0; i < kOperations; ++i) {
      // A leaf, so that no cycle comes about.
      Element* leaf = nullptr;
      do leaf = all[random() % all.size()];
      while (leaf->first);
      Element* parent = all[random() % all.size()];
      if (parent == leaf) continue;
      unlink(leaf);
      put_first(leaf, parent);
    }
    return (cpu_ns() - begin) / kOperations;
  };
  double idle = 1e300;
  // In one heap by turns: where its pages lie makes more of a difference.
  const auto measure = [&](const char* name, Collecting collecting) {
    Collector::begin(collecting);
    const Collector::Root<Element> document = build(kNodes);
    std::vector<Element*> all;
    list_all(&*document, all);
    double marking = 1e300;
    for (int round = 0; round < kRounds; ++round) {
      Collector::collect();
      idle = std::min(idle, move_leaves(all));
      Collector::begin_marking();
      marking = std::min(marking, move_leaves(all));
    }
    report.add(name, Collector::kSubject, "time", marking, "ns");
    Collector::end();
  };
  measure("mutate/marking-by-steps", Collecting::ByHand);
  measure("mutate/marking-besides", Collecting::ByHandBesideTheProgram);
  report.add("mutate/idle", Collector::kSubject, "time", idle, "ns");
}

#else

void mutate(Report&) {}

#endif
#endif

}  // namespace tare::bench
