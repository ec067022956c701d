// A set whose keys are objects: by the 4 bytes of a Member, and by the 8 of a pointer in the same kind of table.
#include <algorithm>
#include <vector>

#include "dom.h"
#include "programs.h"
#if defined(TARE_BENCH_MARKS_ON_DEMAND)
#include "tare/gc/heap_hash_table.h"
#endif

namespace tare::bench {

namespace {

#if defined(TARE_BENCH_MARKS_ON_DEMAND)

struct Holder : Collector::Base<Holder> {
  TARE_BENCH_TRACE(set)
  bool insert(Element* key) { return set.insert(Collector::heap(), key); }
  bool contains(Element* key) const { return set.contains(key); }
  gc::HeapHashSet<Collector::Link<Element>, BenchGroup> set;
};
using Set = Collector::Root<Holder>;
Set make_set() { return Collector::make<Holder>(); }

#elif defined(TARE_BENCH_NATIVE)

// HeapHashSet's ways, for pointers.
class PointerSet {
 public:
  bool insert(Element* key) {
    if ((size_ + 1) * 4 > slots_.size() * 3) grow();
    put(key);
    ++size_;
    return true;
  }
  bool contains(const Element* key) const {
    for (std::size_t i = first(key);; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i] == key) return true;
      if (slots_[i] == nullptr) return false;
    }
  }

 private:
  std::size_t first(const Element* key) const {
    return reinterpret_cast<std::uintptr_t>(key) / 8 * std::uint64_t{0x9E3779B97F4A7C15} >> shift_;
  }
  void put(Element* key) {
    std::size_t i = first(key);
    while (slots_[i] != nullptr) i = (i + 1) & (slots_.size() - 1);
    slots_[i] = key;
  }
  void grow() {
    std::vector<Element*> old = std::move(slots_);
    slots_.assign(old.empty() ? 4 : old.size() * 2, nullptr);
    shift_ = old.empty() ? 62 : shift_ - 1;
    for (Element* key : old) {
      if (key != nullptr) put(key);
    }
  }

  std::vector<Element*> slots_;
  std::size_t size_ = 0;
  int shift_ = 64;
};
using Set = std::unique_ptr<PointerSet>;
Set make_set() { return std::make_unique<PointerSet>(); }

#endif

}  // namespace

void hash_set([[maybe_unused]] Report& report) {
#if defined(TARE_BENCH_MARKS_ON_DEMAND) || defined(TARE_BENCH_NATIVE)
  constexpr std::size_t kKeys = 500'000;
  Collector::begin(Collecting::ByHand);
  const Collector::Root<Element> document = build(2 * kKeys + 1);
  std::vector<Element*> all;
  for (Element* at = &*document;;) {  // depth first, by links alone
    if (Element* child = raw(at->first)) {
      at = child;
    } else {
      while (at != &*document && raw(at->next) == nullptr) at = raw(at->parent);
      if (at == &*document) break;
      at = raw(at->next);
    }
    all.push_back(at);
  }
  std::shuffle(all.begin(), all.end(), std::mt19937(8));
  double insert = 1e300;
  double hit = 1e300;
  double miss = 1e300;
  const auto time = [&](auto&& act) {
    const double begin = cpu_ns();
    act();
    return (cpu_ns() - begin) / kKeys;
  };
  for (int round = 0; round < 5; ++round) {
    const Set set = make_set();
    insert = std::min(insert, time([&] {
                        for (std::size_t i = 0; i < kKeys; ++i) keep(set->insert(all[i]));
                      }));
    hit = std::min(hit, time([&] {
                     for (std::size_t i = 0; i < kKeys; ++i) keep(set->contains(all[i]));
                   }));
    miss = std::min(miss, time([&] {
                      for (std::size_t i = kKeys; i < 2 * kKeys; ++i) keep(set->contains(all[i]));
                    }));
  }
  report.add("hash-set/insert", Collector::kSubject, "time", insert, "ns");
  report.add("hash-set/hit", Collector::kSubject, "time", hit, "ns");
  report.add("hash-set/miss", Collector::kSubject, "time", miss, "ns");
#endif
}

}  // namespace tare::bench
