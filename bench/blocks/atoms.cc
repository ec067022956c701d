// Benches atoms beside their peers: bench-atoms [ROUNDS [SUBJECT]] prints a JSON list of {case, subject, metric, value,
// unit}.
//
// Rounds are interleaved (every subject, then every subject again), and each number is the median of the rounds. Times
// are of the thread's CPU, since the machine may be busy; where threads run side by side there is wall-clock time too.
// Cases: atoms-2k, atoms-10k, atoms-164k, and of each
//   (bare)           bytes   an atom, all-in: what malloc took with its headers, and what the range has mapped
//   /miss            time    making an atom, in random order, the table's growth included
//   /hit             time    finding one that is held and dropping the find, the k-th text as often as 1/k says
//   /hit-uniform     time    the same, every text alike
//   /find            time    finding one without taking hold of it
//   /release         time    letting go of an atom that nobody else holds
//   /gc              time    freeing it
//   /hit-threaded and the like      the same while the process has a second, idle thread: locks and counts are real.
//                                   `hand` only counts
//   /hit-2-threads, /find-2-threads
//                    time, wall     CPU and wall-clock time an operation of two threads
//                    final_ratio    their speed-up over one, by the wall clock; `native` calculates and shares nothing,
//                                   `hand` does nothing but count in the blocks that the others find
// and of atoms-10k only, with a second thread
//   /handout-N       time    giving characters to a holder and taking them back, texts of N characters
#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <map>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "bench/blocks/atoms_peers.h"
#include "bench/blocks/atoms_texts.h"
#include "bench/blocks/report.h"

namespace atoms_bench {
namespace {

constexpr std::size_t kOperations = 1'000'000;

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double cpu_seconds() { return tare::bench::cpu_ns() * 1e-9; }

std::size_t memory_taken() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd + tare::AtomTable::range().mapped_bytes;
}

// Values by (case, subject, metric), in the order of their first appearance.
class Results {
 public:
  void add(const std::string& name, const char* subject, const char* metric, const char* unit, double value) {
    const Key key{name, subject, metric, unit};
    if (values_.find(key) == values_.end()) order_.push_back(key);
    values_[key].push_back(value);
  }
  void add_time(const std::string& name, const char* subject, double seconds, double operations) {
    add(name, subject, "time", "ns", seconds * 1e9 / operations);
  }
  void print() {
    tare::bench::Report report;
    for (const Key& key : order_) {
      std::vector<double>& values = values_[key];
      std::sort(values.begin(), values.end());
      report.add(std::get<0>(key), std::get<1>(key), std::get<2>(key), values[values.size() / 2], std::get<3>(key));
    }
  }

 private:
  using Key = std::tuple<std::string, const char*, const char*, const char*>;
  std::map<Key, std::vector<double>> values_;
  std::vector<Key> order_;
};

struct Workload {
  std::string name;
  const Texts* texts;
  std::size_t count;
  std::vector<std::uint32_t> zipf;
  std::vector<std::uint32_t> uniform;
};

template <class Table>
double time_hits(Table& table, const Workload& work, const std::vector<std::uint32_t>& order, std::size_t first = 0) {
  const double start = cpu_seconds();
  for (std::size_t i = 0; i < order.size(); ++i) {
    // Another order for each thread, but not another text distribution.
    std::size_t at = i + first;
    if (at >= order.size()) at -= order.size();
    [[maybe_unused]] const typename Table::Key key = table.intern((*work.texts)[order[at]]);
  }
  return cpu_seconds() - start;
}

// Looking without taking hold, where a table has that.
template <class Table>
double time_finds(Table& table, const Workload& work, std::size_t first = 0) {
  std::size_t missed = 0;
  const double start = cpu_seconds();
  for (std::size_t i = 0; i < kOperations; ++i) {
    std::size_t at = i + first;
    if (at >= kOperations) at -= kOperations;
    missed += table.has((*work.texts)[work.zipf[at]]) ? 0 : 1;
  }
  const double took = cpu_seconds() - start;
  if (missed != 0) std::abort();
  return took;
}
template <class Table>
constexpr bool kFinds = requires(Table& table) { table.has({}); };

template <class Table>
std::vector<typename Table::Key> fill(Table& table, const Workload& work) {
  std::vector<typename Table::Key> keys;
  keys.reserve(work.count);
  for (std::size_t i = 0; i < work.count; ++i) keys.push_back(table.intern((*work.texts)[i]));
  return keys;
}

// `operations` does a million of them beginning with the one it is given, and returns its CPU seconds.
template <class Operations>
void run_side_by_side(const std::string& name, const char* subject, Results& results, Operations&& operations) {
  const double wall_start = seconds(CLOCK_MONOTONIC);
  operations(0);
  const double alone = seconds(CLOCK_MONOTONIC) - wall_start;
  double cpu[2];
  const double both_start = seconds(CLOCK_MONOTONIC);
  std::thread other([&] { cpu[1] = operations(kOperations / 2); });
  cpu[0] = operations(0);
  other.join();
  const double both = seconds(CLOCK_MONOTONIC) - both_start;
  results.add_time(name, subject, cpu[0] + cpu[1], 2 * kOperations);
  results.add(name, subject, "wall", "ns", both * 1e9 / (2 * kOperations));
  results.add(name, subject, "final_ratio", "x", 2 * alone / both);
}

// The whole life of tables, in a process with one thread.
template <class Table>
void run_alone(const Workload& work, Results& results) {
  const std::size_t tables = std::max<std::size_t>(1, 164'000 / work.count);
  const double atoms = static_cast<double>(tables * work.count);
  double miss = 0;
  double release = 0;
  double gc = 0;
  for (std::size_t i = 0; i < tables; ++i) {
    std::vector<typename Table::Key> keys;
    keys.reserve(work.count);
    const std::size_t before = memory_taken();
    Table table;
    const double start = cpu_seconds();
    for (std::size_t j = 0; j < work.count; ++j) keys.push_back(table.intern((*work.texts)[j]));
    miss += cpu_seconds() - start;
    if (i == 0) {
      results.add(work.name, Table::kName, "bytes", "bytes",
                  static_cast<double>(memory_taken() - before) / static_cast<double>(work.count));
      results.add_time(work.name + "/hit", Table::kName, time_hits(table, work, work.zipf), kOperations);
      if constexpr (kFinds<Table>) {
        results.add_time(work.name + "/find", Table::kName, time_finds(table, work), kOperations);
      }
      results.add_time(work.name + "/hit-uniform", Table::kName, time_hits(table, work, work.uniform), kOperations);
    }
    const double full = cpu_seconds();
    keys.clear();
    const double released = cpu_seconds();
    table.gc();
    gc += cpu_seconds() - released;
    release += released - full;
  }
  results.add_time(work.name + "/miss", Table::kName, miss, atoms);
  results.add_time(work.name + "/release", Table::kName, release, atoms);
  results.add_time(work.name + "/gc", Table::kName, gc, atoms);
}

// With a second thread in the process; `kShared`: the table may be used by several at once.
template <class Table, bool kShared>
void run_threaded(const Workload& work, Results& results) {
  const std::size_t tables = std::max<std::size_t>(1, 164'000 / work.count);
  const double atoms = static_cast<double>(tables * work.count);
  double miss = 0;
  double release = 0;
  double gc = 0;
  for (std::size_t i = 0; i < tables; ++i) {
    Table table;
    const double empty = cpu_seconds();
    std::vector<typename Table::Key> keys = fill(table, work);
    miss += cpu_seconds() - empty;
    if (i == 0)
      results.add_time(work.name + "/hit-threaded", Table::kName, time_hits(table, work, work.zipf), kOperations);
    if constexpr (kFinds<Table>) {
      if (i == 0) {
        results.add_time(work.name + "/find-threaded", Table::kName, time_finds(table, work), kOperations);
      }
      if (kShared && i == 0) {
        run_side_by_side(work.name + "/find-2-threads", Table::kName, results,
                         [&](std::size_t first) { return time_finds(table, work, first); });
      }
    }
    if (kShared && i == 0) {
      run_side_by_side(work.name + "/hit-2-threads", Table::kName, results,
                       [&](std::size_t first) { return time_hits(table, work, work.zipf, first); });
    }
    const double full = cpu_seconds();
    keys.clear();
    const double released = cpu_seconds();
    table.gc();
    gc += cpu_seconds() - released;
    release += released - full;
  }
  results.add_time(work.name + "/miss-threaded", Table::kName, miss, atoms);
  results.add_time(work.name + "/release-threaded", Table::kName, release, atoms);
  results.add_time(work.name + "/gc-threaded", Table::kName, gc, atoms);
}

// What two threads are worth on this machine now: each calculates, in registers, as long as a million look-ups take.
double calculate() {
  const double start = seconds(CLOCK_MONOTONIC);
  std::uint64_t state = 1;
  for (std::size_t i = 0; i < 10 * kOperations; ++i) {
    state = (state ^ state >> 29) * 0x9E3779B97F4A7C15;
    tare::bench::keep(state);
  }
  return seconds(CLOCK_MONOTONIC) - start;
}

void run_parallel_limit(const Workload& work, Results& results) {
  const double alone = calculate();
  const double both_start = seconds(CLOCK_MONOTONIC);
  std::thread other(calculate);
  calculate();
  other.join();
  const double both = seconds(CLOCK_MONOTONIC) - both_start;
  results.add(work.name + "/hit-2-threads", "native", "final_ratio", "x", 2 * alone / both);
}

// The least that a counted, threaded table can do: hash nothing, compare nothing, only count.
void run_limits(const Workload& work, Results& results) {
  struct Block {
    std::atomic<std::uint32_t> references{2};
    char characters[20];
  };
  const std::unique_ptr<Block[]> blocks(new Block[work.count]);
  const auto count = [&](std::size_t first) {
    const double start = cpu_seconds();
    for (std::size_t i = 0; i < kOperations; ++i) {
      std::size_t at = i + first;
      if (at >= kOperations) at -= kOperations;
      blocks[work.zipf[at]].references.fetch_add(1, std::memory_order_relaxed);
      blocks[work.zipf[at]].references.fetch_sub(1, std::memory_order_acq_rel);
    }
    return cpu_seconds() - start;
  };
  results.add_time(work.name + "/hit-threaded", "hand", count(0), kOperations);
  run_side_by_side(work.name + "/hit-2-threads", "hand", results, count);
  const double counted = cpu_seconds();
  std::size_t unused = 0;
  for (std::size_t i = 0; i < work.count; ++i) {
    if (blocks[i].references.fetch_sub(1, std::memory_order_acq_rel) == 2) ++unused;
  }
  results.add_time(work.name + "/release-threaded", "hand", cpu_seconds() - counted, static_cast<double>(unused));
}

// What is given to a holder and taken back 1,000,000 times, over 1,000 texts of that length.
template <class Give>
double time_handouts(Give&& give) {
  constexpr std::size_t kTexts = 1000;
  const double start = cpu_seconds();
  for (std::size_t i = 0; i < kOperations / kTexts; ++i) {
    for (std::size_t j = 0; j < kTexts; ++j) give(j);
  }
  return cpu_seconds() - start;
}

void run_handouts(Results& results) {
  for (const std::size_t length : {3, 4, 14, 15, 16, 63, 64, 100, 101, 400}) {
    const std::string name = "atoms-10k/handout-" + std::to_string(length);
    tare::AtomTable table;
    std::vector<tare::Atom> atoms;
    std::vector<std::shared_ptr<std::string>> counted;
    struct Counted {
      std::atomic<std::uint32_t> references{1};
      std::uint32_t size = 0;
    };
    std::vector<std::unique_ptr<Counted>> by_hand;
    for (std::size_t i = 0; i < 1000; ++i) {
      std::string text = std::to_string(i);
      text.insert(0, length - std::min(length, text.size()), 'x');
      atoms.push_back(table.intern(text));
      counted.push_back(std::make_shared<std::string>(text));
      by_hand.push_back(std::make_unique<Counted>());
    }
    const void* volatile held = nullptr;
    results.add_time(name, "tare", time_handouts([&](std::size_t i) {
                       tare::SharedHeader* share = atoms[i].share();
                       held = share;
                       share->release();
                     }),
                     kOperations);
    results.add_time(name, "hand", time_handouts([&](std::size_t i) {
                       Counted* copy = by_hand[i].get();
                       copy->references.fetch_add(1, std::memory_order_relaxed);
                       held = copy;
                       if (copy->references.fetch_sub(1, std::memory_order_acq_rel) == 1) std::abort();
                     }),
                     kOperations);
    results.add_time(name, "native", time_handouts([&](std::size_t i) {
                       const std::shared_ptr<std::string> copy = counted[i];
                       held = copy.get();
                     }),
                     kOperations);
    // What a getter did after atoms had lost their shared buffers: it copies.
    results.add_time(name, "tare-seed", time_handouts([&](std::size_t i) {
                       const std::string copy(atoms[i].text());
                       held = copy.data();
                     }),
                     kOperations);
  }
}

// An idle thread while it lives, after which no count is plain arithmetic any more.
class SecondThread {
 public:
  SecondThread()
      : thread_([this] {
          std::unique_lock<std::mutex> lock(mutex_);
          wake_.wait(lock, [this] { return done_; });
        }) {}
  ~SecondThread() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      done_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  std::thread thread_;
};

int run(int rounds, const std::string& only) {
  bool has_word_list = false;
  const Texts texts(all_texts(has_word_list));
  std::fprintf(stderr, "%zu texts; words: %s\n", texts.size(), has_word_list ? kWordList : "invented (no wamerican)");
  std::vector<Workload> works;
  for (const auto& [name, count] :
       {std::pair<const char*, std::size_t>{"atoms-2k", 2000}, {"atoms-10k", 10'000}, {"atoms-164k", texts.size()}}) {
    works.push_back({name, &texts, count, zipf_indices(count, kOperations), uniform_indices(count, kOperations)});
  }
  Results results;
  const auto wanted = [&only](const char* name) { return only.empty() || only == name; };
  for (int round = 0; round < rounds; ++round) {
    for (const Workload& work : works) {
      const auto alone = [&]<class Table>() {
        if (wanted(Table::kName)) run_alone<Table>(work, results);
      };
      alone.template operator()<Tare>();
      alone.template operator()<StdSet>();
      alone.template operator()<AbslSet>();
      alone.template operator()<LlvmMap>();
      alone.template operator()<Flyweight>();
      alone.template operator()<FirefoxModel>();
    }
  }
  const SecondThread second;
  for (int round = 0; round < rounds; ++round) {
    for (const Workload& work : works) {
      const auto threaded = [&]<class Table, bool kShared>() {
        if (wanted(Table::kName)) run_threaded<Table, kShared>(work, results);
      };
      threaded.template operator()<Tare, true>();
      run_parallel_limit(work, results);
      threaded.template operator()<LlvmMap, false>();
      threaded.template operator()<LockedLlvmMap, true>();
      threaded.template operator()<Flyweight, true>();
      threaded.template operator()<FirefoxModel, true>();
      run_limits(work, results);
    }
    run_handouts(results);
  }
  results.print();
  return 0;
}

}  // namespace
}  // namespace atoms_bench

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
  return atoms_bench::run(std::max(rounds, 1), argc > 2 ? argv[2] : "");
}
