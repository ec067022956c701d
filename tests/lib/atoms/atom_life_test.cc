// The death of atoms: deferred, bounded, and giving memory back.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lib/support/process_memory.h"
#include "lib/support/sanitized.h"
#include "tare/atom_table.h"

namespace tare {
namespace {

constexpr std::uint32_t kNever = 0xFFFFFFFF;

std::vector<Atom> many(AtomTable& table, int count, const std::string& prefix = "text-") {
  std::vector<Atom> atoms;
  for (int i = 0; i < count; ++i) atoms.push_back(table.intern(prefix + std::to_string(i)));
  return atoms;
}

TEST(AtomLife, UnusedAtomsCanBeFoundAgain) {
  AtomTable table({.unused_threshold = kNever});
  std::uint32_t handle = 0;
  {
    const Atom atom = table.intern("comes back");
    handle = atom.handle();
  }
  EXPECT_EQ(table.use().unused_atoms, 1U);
  const Atom again = table.intern("comes back");
  EXPECT_EQ(again.handle(), handle);
  EXPECT_EQ(table.use().unused_atoms, 0U);
  EXPECT_EQ(table.gc(), 0U);
}

TEST(AtomLife, GcFreesExactlyTheUnused) {
  AtomTable table({.unused_threshold = kNever});
  std::vector<Atom> kept = many(table, 10'000, "kept");
  many(table, 30'000, "dropped");
  EXPECT_EQ(table.use().unused_atoms, 30'000U);
  EXPECT_EQ(table.gc(), 30'000U);
  EXPECT_EQ(table.gc(), 0U);
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_EQ(table.find("kept" + std::to_string(i)), kept[static_cast<std::size_t>(i)]);
    ASSERT_EQ(kept[static_cast<std::size_t>(i)].text(), "kept" + std::to_string(i));
  }
  EXPECT_FALSE(table.find("dropped7"));
}

TEST(AtomLife, NobodyNeedsToCallGc) {
  // Each is dropped at once: without sweeps 200,000 would stay.
  AtomTable table({.unused_threshold = 1000});
  std::size_t most = 0;
  for (int i = 0; i < 200'000; ++i) {
    const Atom atom = table.intern("passing " + std::to_string(i));
    if (i % 1000 == 0) most = std::max(most, table.use().unused_atoms);
  }
  EXPECT_LT(most, 1500U);
  EXPECT_GT(most, 200U) << "not one by one either";
}

TEST(AtomLife, TheThresholdIsAQuarterOfALargeTable) {
  AtomTable table({.unused_threshold = 100});
  const std::vector<Atom> kept = many(table, 40'000, "kept");
  table.gc();  // which looks how many there are
  std::size_t most = 0;
  for (int i = 0; i < 100'000; ++i) {
    const Atom atom = table.intern("passing " + std::to_string(i));
    if (i % 1000 == 0) most = std::max(most, table.use().unused_atoms);
  }
  EXPECT_GT(most, 2000U);
  EXPECT_LT(most, 16'000U);
}

TEST(AtomLife, AlternatingTablesAreBothSwept) {
  AtomTable a({.unused_threshold = 1000});
  AtomTable b({.unused_threshold = 1000});
  for (int i = 0; i < 50'000; ++i) {
    const Atom atom = (i % 8 == 0 ? b : a).intern("passing " + std::to_string(i));
  }
  EXPECT_LT(a.use().unused_atoms, 2000U);
  EXPECT_LT(b.use().unused_atoms, 2000U);
}

TEST(AtomLife, FreedMemoryIsUsedAgain) {
  AtomTable table({.unused_threshold = kNever});
  std::vector<Atom> atoms = many(table, 20'000);
  const std::size_t full = table.use().total_bytes;
  for (int round = 0; round < 20; ++round) {
    // Every second goes, others come: texts as long, but not the same.
    for (std::size_t i = round % 2; i < atoms.size(); i += 2) atoms[i] = {};
    table.gc();
    for (std::size_t i = round % 2; i < atoms.size(); i += 2) {
      atoms[i] = table.intern("tex" + std::to_string(round) + std::to_string(i));
    }
  }
  EXPECT_LT(table.use().total_bytes, full + full / 5);
}

TEST(AtomLife, MemoryGoesBackToTheSystem) {
  AtomTable table({.unused_threshold = kNever});
  const std::size_t resident_before = process_memory_bytes("Rss:");
  std::vector<Atom> atoms = many(table, 1'000'000);
  const std::size_t full = table.use().total_bytes;
  const std::size_t resident_full = process_memory_bytes("Rss:");
  EXPECT_GT(full, 25'000'000U);
  EXPECT_LT(full, 35'000'000U);
  std::vector<Atom>().swap(atoms);
  EXPECT_EQ(table.gc(), 1'000'000U);
  EXPECT_LT(table.use().total_bytes, 400'000U);
  EXPECT_LT(AtomTable::range().mapped_bytes, 1'000'000U);
  EXPECT_LE(AtomTable::range().kept_bytes, 131'072U);
  if (kSanitized) GTEST_SKIP() << "sanitizers keep memory of their own";
  EXPECT_GT(resident_full, resident_before + 20'000'000);
  EXPECT_LT(process_memory_bytes("Rss:"), resident_before + 4'000'000);
}

TEST(AtomLife, ADestroyedTableLeavesNothing) {
  const std::size_t before = AtomTable::range().mapped_bytes;
  {
    AtomTable table;
    const std::vector<Atom> atoms = many(table, 50'000);
    EXPECT_GT(AtomTable::range().mapped_bytes, before + 1'000'000);
  }
  EXPECT_EQ(AtomTable::range().mapped_bytes, before);
}

TEST(AtomLife, HeldAtomsOutliveTheirTable) {
  std::vector<Atom> held;
  {
    AtomTable table;
    std::vector<Atom> atoms = many(table, 5000);
    held = {atoms[0], atoms[2500], atoms[4999]};
  }
  AtomTable next;
  const std::vector<Atom> others = many(next, 5000);
  EXPECT_EQ(held[0].text(), "text-0");
  EXPECT_EQ(held[1].text(), "text-2500");
  EXPECT_EQ(held[2].text(), "text-4999");
  EXPECT_NE(held[0], others[0]);
  held.clear();  // counted, and told to nobody
}

}  // namespace
}  // namespace tare
