// Atoms: 4 bytes that compare, hash, count and lead to characters.
#include "tare/atom.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tare/atom_table.h"
#include "tare/bytes.h"

namespace tare {

bool works_without_exceptions();  // without_exceptions.cc

namespace {

// gc() frees only atoms that no release has freed before.
constexpr AtomTableOptions kOnlyByGc{.unused_threshold = 0xFFFFFFFF};

TEST(Atom, WorksWithoutExceptionsAndRtti) { EXPECT_TRUE(works_without_exceptions()); }

static_assert(sizeof(Atom) == 4 && alignof(Atom) == 4);
static_assert(std::is_nothrow_move_constructible_v<Atom>);
static_assert(Atom() == Atom() && !Atom() && Atom().handle() == 0);

TEST(Atom, EqualTextsAreOneAtom) {
  AtomTable table(kOnlyByGc);
  const Atom a = table.intern("main-header");
  const Atom b = table.intern(std::string("main-") + "header");
  const Atom c = table.intern("main-footer");
  ASSERT_TRUE(a && b && c);
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.handle(), b.handle());
  EXPECT_EQ(a.hash(), std::hash<Atom>()(b));
  EXPECT_NE(a, c);
  EXPECT_EQ(a.text(), "main-header");
  EXPECT_STREQ(a.characters(), "main-header");
  EXPECT_EQ(a.size_bytes(), 11U);
  EXPECT_FALSE(a.is_static());
}

TEST(Atom, NullHasNoText) {
  const Atom null;
  EXPECT_FALSE(null);
  EXPECT_FALSE(null.is_static());
  EXPECT_EQ(null.text(), "");
  EXPECT_STREQ(null.characters(), "");
  EXPECT_EQ(null.copy_utf16(nullptr, 0), 0U);
  AtomTable table(kOnlyByGc);
  const Atom empty = table.intern("");
  EXPECT_TRUE(empty);
  EXPECT_NE(empty, null);
  EXPECT_EQ(empty.text(), "");
}

TEST(Atom, CharactersLieAtMultiplesOf8AndEndInNul) {
  AtomTable table(kOnlyByGc);
  for (std::size_t n = 0; n < 100; ++n) {
    const std::string text(n, 'q');
    const Atom atom = table.intern(text);
    EXPECT_EQ(atom.text(), text);
    EXPECT_EQ(atom.characters()[n], '\0');
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(atom.characters()) % 8, 0U);
    EXPECT_EQ(SharedHeader::before(atom.characters())->size_bytes(), n);
  }
}

TEST(Atom, CopiesCountAndMovesDoNot) {
  AtomTable table(kOnlyByGc);
  Atom a = table.intern("counted");
  const SharedHeader* block = SharedHeader::before(a.characters());
  EXPECT_EQ(block->references(), 2U);  // the table's and a's
  {
    const Atom copy = a;
    Atom assigned;
    assigned = copy;
    EXPECT_EQ(block->references(), 4U);
    const Atom moved = std::move(assigned);
    EXPECT_FALSE(assigned);  // NOLINT(bugprone-use-after-move): null is what is promised
    EXPECT_EQ(block->references(), 4U);
    Atom& self = a;
    a = self;
    EXPECT_EQ(block->references(), 4U);
  }
  EXPECT_EQ(block->references(), 2U);
  const Atom other = table.intern("other");
  a = other;
  EXPECT_EQ(block->references(), 1U);
}

TEST(Atom, HandlesTakeReferencesAlong) {
  AtomTable table(kOnlyByGc);
  Atom a = table.intern("by number");
  const SharedHeader* block = SharedHeader::before(a.characters());
  const std::uint32_t handle = a.detach();
  EXPECT_FALSE(a);
  EXPECT_EQ(block->references(), 2U);
  {
    const Atom again = Atom::from_handle(handle);
    EXPECT_EQ(block->references(), 3U);
    EXPECT_EQ(again.text(), "by number");
  }
  const Atom adopted = Atom::adopt_handle(handle);
  EXPECT_EQ(block->references(), 2U);
}

TEST(Atom, ServesAsKey) {
  AtomTable table(kOnlyByGc);
  std::unordered_set<Atom> hashed;
  std::set<Atom> ordered;
  for (int i = 0; i < 1000; ++i) {
    hashed.insert(table.intern(std::to_string(i % 100)));
    ordered.insert(table.intern(std::to_string(i % 100)));
  }
  EXPECT_EQ(hashed.size(), 100U);
  EXPECT_EQ(ordered.size(), 100U);
}

TEST(Atom, HashesOfNeighboursSpread) {
  // Handles are multiples of few; a table that takes the low bits must not see that.
  AtomTable table(kOnlyByGc);
  std::vector<Atom> atoms;
  std::vector<int> buckets(256);
  std::vector<int> high(256);
  for (int i = 0; i < 25'600; ++i) {
    atoms.push_back(table.intern(std::to_string(i)));
    ++buckets[atoms.back().hash() % buckets.size()];
    ++high[atoms.back().hash() >> 56];
  }
  // 7 standard deviations of what chance gives.
  for (const int count : buckets) EXPECT_NEAR(count, 100, 70);
  for (const int count : high) EXPECT_NEAR(count, 100, 70);
}

TEST(Shares, KeepTheAtomAliveWithoutCopying) {
  AtomTable table(kOnlyByGc);
  for (const std::size_t n : {3, 4, 14, 15, 16, 63, 64, 100, 101, 400, 100'000}) {
    Atom atom = table.intern(std::string(n, 'c'));
    const char* characters = atom.characters();
    SharedHeader* share = atom.share();
    EXPECT_EQ(share->characters(), characters);
    EXPECT_EQ(share->owner(), SharedOwner::HandedOutAtom);
    atom = {};
    table.gc();
    EXPECT_EQ(share->text(), std::string(n, 'c'));
    EXPECT_EQ(table.find(std::string(n, 'c')).characters(), characters);
    share->release();
    EXPECT_EQ(table.gc(), 1U);
    EXPECT_FALSE(table.find(std::string(n, 'c')));
  }
}

TEST(Shares, CallBacksServeAForeignString) {
  AtomTable table(kOnlyByGc);
  const char* characters = nullptr;
  {
    const Atom atom = table.intern("held by an engine");
    characters = atom.characters();
    acquire_characters(characters);
  }
  table.gc();
  EXPECT_STREQ(characters, "held by an engine");
  // Back to the atom without a look-up.
  Atom again = Atom::of_characters(characters);
  EXPECT_EQ(again, table.intern("held by an engine"));
  release_characters(characters);
  table.gc();
  EXPECT_EQ(again.text(), "held by an engine");
  again = {};
  EXPECT_EQ(table.gc(), 1U);
}

TEST(Shares, AreBytesToWhoHoldsBytes) {
  AtomTable table(kOnlyByGc);
  Bytes bytes;
  {
    const Atom atom = table.intern("an atom's characters");
    bytes = Bytes::adopt_shared(atom.share());
    EXPECT_EQ(static_cast<const void*>(bytes.data()), atom.characters());
  }
  table.gc();
  EXPECT_EQ(bytes.text(), "an atom's characters");
  bytes = {};
  EXPECT_EQ(table.gc(), 1U);
}

TEST(Shares, OverflownCountsAreImmortal) {
  AtomTable table(kOnlyByGc);
  Atom atom = table.intern("popular");
  SharedHeader* block = atom.share();
  auto& references = *reinterpret_cast<std::atomic<std::uint32_t>*>(block);
  const std::uint32_t before = references.load();
  ASSERT_EQ(before, 3U);
  references.store(SharedHeader::kSaturated - 1);
  block->acquire();  // to kSaturated
  block->acquire();
  EXPECT_EQ(block->references(), SharedHeader::kImmortal);
  for (int i = 0; i < 10; ++i) block->release();
  EXPECT_EQ(block->references(), SharedHeader::kImmortal);
  {
    const Atom found = table.find("popular");
  }
  {
    const Atom copy = atom;  // NOLINT(performance-unnecessary-copy-initialization): counts
  }
  EXPECT_EQ(block->references(), SharedHeader::kImmortal);
  atom = {};
  table.gc();
  EXPECT_EQ(table.find("popular").text(), "popular");
  references.store(1);  // so that the table can go without a leak
}

}  // namespace
}  // namespace tare
