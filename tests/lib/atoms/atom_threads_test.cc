// Many threads on one table: making, finding, dropping, sweeping and growing at once. For the thread sanitizer too.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "lib/support/sanitized.h"
#include "tare/atom_table.h"

namespace tare {
namespace {

constexpr int kThreads = 4;
constexpr int kSteps = kThreadSanitized ? 10'000 : 60'000;

template <class Body>
void in_threads(Body body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

TEST(AtomThreads, AgreeOnHandles) {
  AtomTable table;
  constexpr int kTexts = 5000;
  std::vector<std::vector<Atom>> made(kThreads);
  in_threads([&](int self) {
    // All make the same texts, each beginning elsewhere.
    std::vector<Atom> atoms(kTexts);
    for (int i = 0; i < kTexts; ++i) {
      const int text = (i + self * kTexts / kThreads) % kTexts;
      atoms[static_cast<std::size_t>(text)] = table.intern("text-" + std::to_string(text));
    }
    made[static_cast<std::size_t>(self)] = std::move(atoms);
  });
  for (int i = 1; i < kThreads; ++i) EXPECT_EQ(made[static_cast<std::size_t>(i)], made[0]);
  EXPECT_EQ(table.use().used_atoms, static_cast<std::size_t>(kTexts));
}

TEST(AtomThreads, MakeDropAndSweepAtOnce) {
  AtomTable table({.unused_threshold = 100});
  std::atomic<int> wrong{0};
  in_threads([&](int self) {
    std::mt19937 random(static_cast<unsigned>(self));
    std::vector<std::pair<Atom, std::string>> held(64);
    for (int i = 0; i < kSteps; ++i) {
      // Few texts, so that threads meet: an atom dies while another thread finds it.
      const std::string text = "t" + std::to_string(random() % 500) + std::string(random() % 20, '-');
      Atom atom = random() % 4 == 0 ? table.find(text) : table.intern(text);
      if (atom && atom.text() != text) ++wrong;
      if (atom && random() % 2 == 0) held[random() % held.size()] = {atom, text};
      if (random() % 16 == 0) {
        const auto& [kept, kept_text] = held[random() % held.size()];
        if (kept.text() != kept_text || (kept && table.find(kept_text) != kept)) ++wrong;
      }
      if (self == 0 && i % 64 == 0) table.gc();
      if (self == 1 && i % 1024 == 0) static_cast<void>(table.use());
    }
  });
  EXPECT_EQ(wrong.load(), 0);
  table.gc();
  EXPECT_EQ(table.use().used_atoms + table.use().unused_atoms, 0U);
}

TEST(AtomThreads, FindWhileTheTableGrowsAndShrinks) {
  AtomTable table({.unused_threshold = 0xFFFFFFFF});
  const Atom constant = table.intern("there all the time");
  std::atomic<bool> stop{false};
  std::atomic<int> missed{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) {
        if (table.intern("there all the time") != constant) ++missed;
        if (table.find("there all the time") != constant) ++missed;
        if (table.find_handle("there all the time") != constant.handle()) ++missed;
      }
    });
  }
  for (int round = 0; round < 8; ++round) {
    std::vector<Atom> atoms;
    for (int i = 0; i < kSteps / 3; ++i) atoms.push_back(table.intern(std::to_string(round) + "-" + std::to_string(i)));
    atoms.clear();
    table.gc();
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(missed.load(), 0);
}

TEST(AtomThreads, SharesCrossThreads) {
  AtomTable table({.unused_threshold = 50});
  std::atomic<SharedHeader*> mailbox{nullptr};
  std::atomic<int> wrong{0};
  constexpr int kLetters = kSteps / 10;
  std::thread writer([&] {
    for (int i = 0; i < kLetters; ++i) {
      SharedHeader* letter = table.intern("letter " + std::to_string(i)).share();
      SharedHeader* empty = nullptr;
      while (!mailbox.compare_exchange_weak(empty, letter, std::memory_order_release, std::memory_order_relaxed)) {
        empty = nullptr;
        std::this_thread::yield();
      }
    }
  });
  for (int i = 0; i < kLetters; ++i) {
    SharedHeader* letter = nullptr;
    while ((letter = mailbox.exchange(nullptr, std::memory_order_acquire)) == nullptr) std::this_thread::yield();
    if (letter->text() != "letter " + std::to_string(i)) ++wrong;
    letter->release();
  }
  writer.join();
  EXPECT_EQ(wrong.load(), 0);
  table.gc();
  EXPECT_EQ(table.use().used_atoms, 0U);
}

TEST(AtomThreads, LetGoWhileTheTableGoes) {
  for (int round = 0; round < 20; ++round) {
    auto table = std::make_unique<AtomTable>(AtomTableOptions{.unused_threshold = 100});
    std::vector<std::vector<Atom>> held(kThreads);
    for (std::vector<Atom>& of_thread : held) {
      for (int i = 0; i < 2000; ++i) of_thread.push_back(table->intern(std::to_string(i + (i % 7) * 10'000)));
    }
    std::atomic<int> waiting{kThreads};
    in_threads([&](int self) {
      --waiting;
      while (waiting > 0) std::this_thread::yield();
      if (self == 0) table.reset();
      held[static_cast<std::size_t>(self)].clear();
    });
  }
}

// Searches in destructors of thread-local objects, after the thread was taken off the books of readers.
struct LateSearch {
  AtomTable* table = nullptr;
  std::atomic<int>* found = nullptr;
  ~LateSearch() {
    if (table == nullptr) return;
    const Atom atom = table->intern("late");
    if (atom.text() == "late" && table->find("late") == atom) ++*found;
  }
};
thread_local LateSearch late_search;

TEST(AtomThreads, SearchAtTheirVeryEnd) {
  AtomTable table;
  std::atomic<int> found{0};
  in_threads([&](int) {
    late_search = {};
    late_search.table = &table;  // made before this thread first searches, so destroyed after its record
    late_search.found = &found;
    const Atom atom = table.intern("early");
  });
  EXPECT_EQ(found.load(), kThreads);
  table.gc();  // would wait for a thread that is gone
  EXPECT_EQ(table.use().used_atoms, 0U);
}

TEST(AtomThreads, MakeTablesAtOnce) {
  in_threads([](int self) {
    for (int i = 0; i < 20; ++i) {
      AtomTable table;
      std::vector<Atom> atoms;
      for (int j = 0; j < 200; ++j) atoms.push_back(table.intern(std::to_string(self * 1000 + j)));
      for (int j = 0; j < 200; ++j) {
        if (atoms[static_cast<std::size_t>(j)].text() != std::to_string(self * 1000 + j)) std::abort();
      }
    }
  });
}

}  // namespace
}  // namespace tare
