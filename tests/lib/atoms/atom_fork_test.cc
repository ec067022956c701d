// Forks while other threads search, make and sweep: the children go on with the same tables.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lib/support/child_of_threads.h"
#include "tare/atom_table.h"

namespace tare {
namespace {

// What a child can do with a table that its parent's threads were using. In one thread: the thread sanitizer ends
// children that start others.
int use_in_child(AtomTable& table, const Atom& held) {
  if (table.find("held") != held || table.intern("held").text() != "held") return 1;
  std::vector<Atom> atoms;
  for (int i = 0; i < 500; ++i) {
    atoms.push_back(table.intern("child " + std::to_string(i)));
    if (atoms.back().text() != "child " + std::to_string(i)) return 2;
  }
  const std::size_t used = table.use().used_atoms;
  if (used < atoms.size() + 1) return 3;
  atoms.clear();
  table.gc();
  if (table.use().unused_atoms != 0) return 4;
  AtomTable another;
  if (another.intern("new").text() != "new") return 5;
  return held.text() == "held" ? 0 : 6;
}

TEST(AtomFork, WhileOthersSearch) {
  AtomTable table;
  const Atom held = table.intern("held");
  const int wrong = testing::in_children_of_threads(
      100, 2, [&](int) { static_cast<void>(table.find_handle("held")); }, [&] { return use_in_child(table, held); });
  EXPECT_EQ(wrong, 0);
}

TEST(AtomFork, WhileOthersMakeAndSweep) {
  AtomTable table({.unused_threshold = 64});
  const Atom held = table.intern("held");
  const int wrong = testing::in_children_of_threads(
      100, 2,
      [&](int self) {
        for (int i = 0; i < 100; ++i) {
          static_cast<void>(table.intern("other " + std::to_string(self) + "/" + std::to_string(i)));
        }
        table.gc();
      },
      [&] { return use_in_child(table, held); });
  EXPECT_EQ(wrong, 0);
}

TEST(AtomFork, WhileOthersMakeTables) {
  AtomTable table;
  const Atom held = table.intern("held");
  const int wrong = testing::in_children_of_threads(
      100, 2,
      [](int) {
        AtomTable short_lived;
        static_cast<void>(short_lived.intern("x"));
      },
      [&] { return use_in_child(table, held); });
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tare
