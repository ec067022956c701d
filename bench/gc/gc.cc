// Costs of a collector's objects: programs of objects, compiled for one collector each (bench/gc/CMakeLists.txt).
//
//   dom          a million nodes of five links and 8 bytes of payload: all-in bytes a node, building, walking through
//                the tree, a full collection, and one after half of it died
//   chase        a ring of 256 nodes in the first-level cache: a step to what is known to be there, and one that tests
//   binary-trees the benchmark game's: short-lived trees beside a long-lived one; with -at-once without short pauses
//   retention    dead objects of 256 bytes, 1 GiB of them, that junk on the stack keeps
//   pause        garbage made beside those million nodes: the longest that a few operations took
//   mutate       leaves of those nodes taken elsewhere, while the heap is being marked and while it isn't
//   hash-set     half a million of them as keys of a set
//   session      much short-lived made beside a document that stays, with a little that is stored into it
//   fragmented   rows of numbers of which a random tenth is left: what stays resident, and compacting it
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "dom.h"
#include "programs.h"
#include "report.h"

namespace tare::bench {

std::size_t resident_bytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  std::size_t total = 0;
  std::size_t resident = 0;
  if (file == nullptr || std::fscanf(file, "%zu %zu", &total, &resident) != 2) resident = 0;
  if (file != nullptr) std::fclose(file);
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

double process_cpu_s() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// Of this program: what getrusage() says includes the program that started it.
double peak_rss_bytes() {
  std::FILE* file = std::fopen("/proc/self/status", "r");
  char line[256];
  std::size_t kib = 0;
  while (file != nullptr && std::fgets(line, sizeof(line), file) != nullptr) {
    if (std::sscanf(line, "VmHWM: %zu", &kib) == 1) break;
  }
  if (file != nullptr) std::fclose(file);
  return static_cast<double>(kib) * 1024;
}

// ---- dom

void dom(Report& report) {
  constexpr std::uint32_t kNodes = 1'000'000;
  const auto ns_a_node = [&](auto&& act) {
    const double begin = cpu_ns();
    act();
    return (cpu_ns() - begin) / kNodes;
  };
  Collector::begin(Collecting::ByHand);
  const std::size_t before = resident_bytes();
  Collector::Root<Element> document;
  report.add("dom/build", Collector::kSubject, "time", ns_a_node([&] { document = build(kNodes); }), "ns");
  report.add("dom/rss", Collector::kSubject, "bytes", static_cast<double>(resident_bytes() - before) / kNodes, "bytes");
  if (Collector::used_bytes() > 0) {
    report.add("dom/bytes", Collector::kSubject, "bytes", Collector::used_bytes() / kNodes, "bytes");
  }
  report.add("dom/sizeof", Collector::kSubject, "bytes", sizeof(Element), "bytes");
  double best = 1e300;
  for (int i = 0; i < 5; ++i) best = std::min(best, ns_a_node([&] { keep(walk(&*document)); }));
  report.add("dom/traverse", Collector::kSubject, "time", best, "ns");
  if (Collector::kCollects) {
    best = 1e300;
    for (int i = 0; i < 5; ++i) best = std::min(best, ns_a_node([&] { Collector::collect(); }));
    report.add("dom/full-gc", Collector::kSubject, "time", best * kNodes, "ns");
  }
  // All but the document dies, and is freed by hand or found.
  const auto drop_all = [&] {
    drop(document->first);
    document->first = Collector::Link<Element>();
    Collector::collect();
  };
  report.add("dom/drop", Collector::kSubject, "time", ns_a_node(drop_all), "ns");
  report.add("dom/rss-after-drop", Collector::kSubject, "bytes", static_cast<double>(resident_bytes()), "bytes");
}

// ---- chase

struct Ring : Collector::Base<Ring> {
  TARE_BENCH_TRACE(next)
  Collector::Link<Ring> next;
  std::uint32_t value = 0;
};

template <class Link>
[[gnu::noinline]] std::uint32_t chase_known(const Link& from, std::size_t steps) {
  const Ring* ring = &*from;
  for (std::size_t i = 0; i < steps; ++i) ring = &*ring->next;
  return ring->value;
}

template <class Link>
[[gnu::noinline]] std::size_t chase_tested(const Link& from, std::size_t steps) {
  const Ring* ring = &*from;
  while (steps != 0 && ring != nullptr) {
    ring = raw(ring->next);
    --steps;
  }
  return steps;
}

void chase(Report& report) {
  Collector::begin(Collecting::ByHand);
  constexpr std::size_t kCount = 256;
  constexpr std::size_t kSteps = 4'000'000;
  std::vector<Collector::Root<Ring>> ring;
  for (std::size_t i = 0; i < kCount; ++i) ring.emplace_back(Collector::make<Ring>());
  std::shuffle(ring.begin(), ring.end(), std::mt19937(1));
  for (std::size_t i = 0; i < kCount; ++i) ring[i]->next = Collector::Made<Ring>(ring[(i + 1) % kCount]);
  const auto least = [&](auto&& walk_it) {
    double best = 1e300;
    for (int i = 0; i < 9; ++i) {
      const double begin = cpu_ns();
      keep(walk_it());
      best = std::min(best, (cpu_ns() - begin) / static_cast<double>(kSteps));
    }
    return best;
  };
  report.add("chase/known", Collector::kSubject, "time", least([&] { return chase_known(ring[0], kSteps); }), "ns");
  report.add("chase/tested", Collector::kSubject, "time", least([&] { return chase_tested(ring[0], kSteps); }), "ns");
  if constexpr (!Collector::kCollects) ring[0]->next = Collector::Link<Ring>();
}

// ---- binary-trees

struct Tree : Collector::Base<Tree> {
  TARE_BENCH_TRACE(left, right)
  Collector::Link<Tree> left, right;
};

Collector::Made<Tree> grow(int depth) {
  Collector::Made<Tree> tree = Collector::make<Tree>();
  if (depth > 0) {
    tree->left = grow(depth - 1);
    tree->right = grow(depth - 1);
  }
  return tree;
}

std::uint32_t check(const Tree* tree) {
  return raw(tree->left) == nullptr ? 1 : 1 + check(raw(tree->left)) + check(raw(tree->right));
}

template <class Made>
std::uint32_t use(Made tree) {
  const std::uint32_t sum = check(&*tree);
  if constexpr (Collector::kFrees) Collector::free_tree(tree);
  return sum;
}

[[gnu::noinline]] void trees(Report& report, int most, Collecting collecting) {
  const double before_bytes = peak_rss_bytes();  // libnode alone has 20 MB
  Collector::begin(collecting);
  const double begin = process_cpu_s();
  constexpr int kLeast = 4;
  std::uint64_t objects = use(grow(most + 1));
  Collector::Root<Tree> kept = grow(most);
  for (int depth = kLeast; depth <= most; depth += 2) {
    const int rounds = 1 << (most - depth + kLeast);
    for (int i = 0; i < rounds; ++i) objects += use(grow(depth));
  }
  objects += check(&*kept);
  const double cpu = process_cpu_s() - begin;
  const char* how = collecting == Collecting::AutomaticAtOnce ? "/at-once" : "";
  const std::string name = "binary-trees-" + std::to_string(most) + how;
  report.add(name, Collector::kSubject, "cpu", cpu, "s");
  report.add(name, Collector::kSubject, "time", cpu * 1e9 / static_cast<double>(objects), "ns");
  report.add(name, Collector::kSubject, "rss", peak_rss_bytes() - before_bytes, "bytes");
}

// ---- retention

struct Dead : Collector::Base<Dead> {
  TARE_BENCH_TRACE()
  ~Dead() = default;
  char bytes[256];
};

#if !defined(TARE_BENCH_NATIVE) && !defined(TARE_BENCH_SHARED_PTR) && !defined(TARE_BENCH_CPPGC)
constexpr std::size_t kJunk = 10'000;

[[gnu::noinline]] void collect_with(const std::vector<std::uint64_t>& words) {
  volatile std::uint64_t junk[kJunk];
  for (std::size_t i = 0; i < kJunk; ++i) junk[i] = words[i];
  Collector::collect_with_stack();
  keep(junk[kJunk / 2]);
}
#endif

void retention([[maybe_unused]] Report& report) {
#if !defined(TARE_BENCH_NATIVE) && !defined(TARE_BENCH_SHARED_PTR) && !defined(TARE_BENCH_CPPGC)
  std::mt19937_64 random(2026);
  const auto measure = [&](const char* name, auto&& next) {
    Collector::begin(Collecting::ByHand);
    for (std::size_t i = 0; i < (std::size_t{1} << 30) / 264; ++i) keep(Collector::make<Dead>());
    std::vector<std::uint64_t> words(kJunk);
    for (std::uint64_t& word : words) word = next();
    collect_with(words);
    const double objects = Collector::live_objects() >= 0 ? Collector::live_objects() : Collector::used_bytes() / 272;
    report.add(name, Collector::kSubject, "count", objects, "objects");
    Collector::end();
  };
  measure("retention-pointers", [&] { return 0x7f00'0000'0000 + (random() & 0xff'ffff'fff8); });
  measure("retention-u32", [&] { return random() & 0xffff'ffff; });
#endif
}

}  // namespace tare::bench

int main(int argc, char** argv) {
  using namespace tare::bench;
  const char* program = argc > 1 ? argv[1] : "";
  Report report;
  if (std::strcmp(program, "dom") == 0) {
    dom(report);
  } else if (std::strcmp(program, "chase") == 0) {
    chase(report);
  } else if (std::strcmp(program, "binary-trees") == 0) {
    trees(report, argc > 2 ? std::atoi(argv[2]) : 16, Collecting::Automatic);
  } else if (std::strcmp(program, "binary-trees-at-once") == 0) {
    trees(report, argc > 2 ? std::atoi(argv[2]) : 16, Collecting::AutomaticAtOnce);
  } else if (std::strcmp(program, "retention") == 0) {
    retention(report);
  } else if (std::strcmp(program, "pause") == 0) {
    pause(report);
  } else if (std::strcmp(program, "mutate") == 0) {
    mutate(report);
  } else if (std::strcmp(program, "hash-set") == 0) {
    hash_set(report);
  } else if (std::strcmp(program, "session") == 0) {
    session(report);
  } else if (std::strcmp(program, "fragmented") == 0) {
    fragmented(report);
  } else {
    std::fprintf(stderr,
                 "usage: %s dom|chase|binary-trees [DEPTH]|binary-trees-at-once "
                 "[DEPTH]|retention|pause|mutate|hash-set|session|fragmented\n",
                 argv[0]);
    return 2;
  }
  return 0;
}
