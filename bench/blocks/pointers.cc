// Compressed pointers beside plain ones and beside the seed's scheme: what decoding costs where each step waits for the
// one before (a ring in the first-level cache), and what half the size is worth where memory is what is waited for.
//
//   pointer-chase-l1/known   ns a step to an object that is known to be there: node->next->...
//   pointer-chase-l1/tested  ns a step that tests for null: while ((node = node->next.get()))
//   pointer-chase-memory     ns a step among a million nodes in random order
//   pointer-node             bytes of a node of three pointers and a number
//
// Subjects: native (8 bytes), tare, tare-seed (sign-extended and masked, as in the article on Oilpan), hand (a cage at
// low addresses, where 4 bytes are the address: the least that is possible).
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <utility>
#include <vector>

#include "report.h"
#include "tare/compressed_ptr.h"

namespace tare::bench {

// Not in an unnamed namespace: compilers would see that a base is set once, and what it is.
struct BenchCage {
  static constexpr std::size_t kGranuleBytes = 8;
};
struct LowCage {
  static constexpr std::size_t kGranuleBytes = 1;
  static constexpr std::uintptr_t kBase = 0;
};

// The seed's scheme: bit 32 of every address in the cage is set, and becomes the sign of the compressed value.
std::uintptr_t seed_base;  // with its lower half all ones

template <class T>
class SeedPtr {
 public:
  SeedPtr() = default;
  SeedPtr(T* raw)  // NOLINT(google-explicit-constructor)
      : bits_(static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(raw) >> 1)) {}
  T* get() const {
    const auto wide = static_cast<std::uintptr_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(bits_)));
    return reinterpret_cast<T*>(wide << 1 & seed_base);
  }
  T* operator->() const { return get(); }

 private:
  std::uint32_t bits_ = 0;
};

template <class T>
class PlainPtr {
 public:
  PlainPtr() = default;
  PlainPtr(T* raw) : raw_(raw) {}  // NOLINT(google-explicit-constructor)
  T* get() const { return raw_; }
  T* operator->() const { return raw_; }

 private:
  T* raw_ = nullptr;
};

template <template <class> class Pointer>
struct Node {
  Pointer<Node> next, first, parent;
  std::uint32_t value;
};

template <class T>
using TarePtr = CompressedPtr<T, BenchCage>;
template <class T>
using LowPtr = CompressedPtr<T, LowCage>;

template <template <class> class Pointer>
[[gnu::noinline]] std::uint32_t walk_known(Pointer<Node<Pointer>> node, std::size_t steps) {
  for (std::size_t i = 0; i < steps; ++i) node = node->next;
  return node->value;
}

template <template <class> class Pointer>
[[gnu::noinline]] std::size_t walk_tested(Node<Pointer>* node, std::size_t steps) {
  while (steps != 0 && node != nullptr) {
    node = node->next.get();
    --steps;
  }
  return steps;
}

// Nodes in a ring, in random order.
template <template <class> class Pointer>
void link(Node<Pointer>* nodes, std::size_t count) {
  std::vector<std::size_t> order(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), std::mt19937(1));
  for (std::size_t i = 0; i < count; ++i) {
    Node<Pointer>& node = *new (&nodes[order[i]]) Node<Pointer>{};
    node.next = &nodes[order[(i + 1) % count]];
    node.value = static_cast<std::uint32_t>(i);
  }
}

// The least of several, a step.
template <class Walk>
double least_ns(std::size_t steps, Walk walk) {
  double least = 1e300;
  for (int repeat = 0; repeat < 9; ++repeat) {
    const double begin = cpu_ns();
    keep(walk());
    least = std::min(least, (cpu_ns() - begin) / static_cast<double>(steps));
  }
  return least;
}

template <template <class> class Pointer>
void measure(Report& report, const char* subject, Cage& cage) {
  using BenchNode = Node<Pointer>;
  constexpr std::size_t kFew = 256;  // 4 or 8 KiB, of 32
  constexpr std::size_t kMany = 1'000'000;
  constexpr std::size_t kSteps = 2'000'000;
  const PageRun run = cage.allocate(kMany * sizeof(BenchNode)).value();
  auto* nodes = reinterpret_cast<BenchNode*>(run.data);
  report.add("pointer-node", subject, "bytes", sizeof(BenchNode), "bytes");

  link(nodes, kFew);
  report.add("pointer-chase-l1/known", subject, "time",
             least_ns(kSteps, [&] { return walk_known<Pointer>(nodes, kSteps); }), "ns");
  report.add("pointer-chase-l1/tested", subject, "time",
             least_ns(kSteps, [&] { return walk_tested<Pointer>(nodes, kSteps); }), "ns");

  link(nodes, kMany);
  report.add("pointer-chase-memory", subject, "time",
             least_ns(kMany, [&] { return walk_known<Pointer>(nodes, kMany); }), "ns");
  cage.free(run);
}

Cage cage_with(const CageOptions& options) {
  CageResult<Cage> made = Cage::reserve(options);
  if (made) return std::move(made.value());
  std::fprintf(stderr, "no cage: %s\n", describe(made.error()));
  std::exit(1);
}

[[gnu::noinline]] void bind_all(const Cage& cage, const Cage& low, const Cage& seed) {
  const bool bound =
      CageBase<BenchCage>::bind(cage) == CageError::None && CageBase<LowCage>::bind(low) == CageError::None;
  if (!bound) std::exit(1);
  seed_base = reinterpret_cast<std::uintptr_t>(seed.base()) | 0xffff'ffff;
}

void run() {
  constexpr std::size_t kGiB = std::size_t{1} << 30;
  Cage cage = cage_with(cage_options<BenchCage>());
  Cage seed = cage_with({.size_bytes = 4 * kGiB, .alignment_bytes = 8 * kGiB, .alignment_phase_bytes = 4 * kGiB});
  Cage low = cage_with({.size_bytes = kGiB, .fixed_base = kGiB / 2});
  bind_all(cage, low, seed);
  Report report;
  measure<PlainPtr>(report, "native", cage);
  measure<TarePtr>(report, "tare", cage);
  measure<SeedPtr>(report, "tare-seed", seed);
  measure<LowPtr>(report, "hand", low);
}

}  // namespace tare::bench

int main() {
  tare::bench::run();
  return 0;
}
