// The table against a plain map, and texts that are odd: long, with NULs, empty, too long.
#include "tare/atom_table.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <unordered_map>
#include <vector>

namespace tare {
namespace {

// Texts of all lengths, often the same ones, and alike at either end.
std::string random_text(std::mt19937& random) {
  std::size_t size = random() % 24;
  if (random() % 16 == 0) size = random() % 400;
  if (random() % 1024 == 0) size = random() % 200'000;
  std::string text(size, 'a');
  if (size != 0 && size < 24) {
    for (char& c : text) c = static_cast<char>("ab\0\xFF"[random() % (size < 6 ? 4 : 2)]);
  } else if (size != 0) {
    text[random() % size] = static_cast<char>(random());
  }
  return text;
}

void expect_like_a_map(unsigned seed, int steps) {
  std::mt19937 random(seed);
  AtomTable table({.unused_threshold = 1 + seed * 50});
  std::unordered_map<std::string, std::vector<Atom>> held;
  std::vector<std::string> texts;
  for (int i = 0; i < steps; ++i) {
    const auto what = static_cast<unsigned>(random() % 100);
    if (what < 55 || texts.empty()) {
      const std::string text = random_text(random);
      Atom atom = table.intern(text);
      ASSERT_TRUE(atom);
      ASSERT_EQ(atom.text(), text);
      std::vector<Atom>& atoms = held[text];
      if (atoms.empty()) texts.push_back(text);
      if (!atoms.empty()) {
        ASSERT_EQ(atom, atoms.front());
      }
      atoms.push_back(std::move(atom));
    } else if (what < 98) {
      const std::size_t at = random() % texts.size();
      const auto found = held.find(texts[at]);
      ASSERT_EQ(table.find(texts[at]), found->second.front());
      found->second.pop_back();
      if (found->second.empty()) {
        held.erase(found);
        texts[at] = texts.back();
        texts.pop_back();
      }
    } else if (what < 99) {
      const AtomTableUse before = table.use();
      ASSERT_EQ(table.gc(), before.unused_atoms);
      ASSERT_EQ(table.use().unused_atoms, 0U);
    } else {
      ASSERT_EQ(table.use().used_atoms, held.size());
    }
  }
  for (const auto& [text, atoms] : held) {
    ASSERT_EQ(table.find(text), atoms.front());
    for (const Atom& atom : atoms) ASSERT_EQ(atom.text(), text);
  }
  std::unordered_map<std::uint32_t, std::string> by_handle;
  for (const auto& [text, atoms] : held) ASSERT_TRUE(by_handle.emplace(atoms.front().handle(), text).second);
}

TEST(AtomTable, BehavesLikeAMap) {
  for (unsigned seed = 0; seed < 6; ++seed) expect_like_a_map(seed, 12'000);
}

TEST(AtomTable, HoldsNulsAndTellsLengthsApart) {
  AtomTable table;
  std::vector<Atom> atoms;
  for (std::size_t n = 0; n < 40; ++n) {
    atoms.push_back(table.intern(std::string(n, '\0')));
    atoms.push_back(table.intern(std::string(n, '\0') + "x"));
  }
  for (std::size_t i = 0; i < atoms.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(atoms[i], atoms[j]);
  }
  EXPECT_EQ(atoms[6].text(), std::string(3, '\0'));
}

TEST(AtomTable, TakesLongTexts) {
  AtomTable table({.unused_threshold = 0xFFFFFFFF});
  for (const std::size_t n : {std::size_t{2000}, std::size_t{32 * 1024 - 9}, std::size_t{32 * 1024},
                              std::size_t{65'535}, std::size_t{65'536}, std::size_t{65'537}, std::size_t{5} << 20}) {
    std::string text(n, 'l');
    const Atom a = table.intern(text);
    text[n / 2] = 'L';
    const Atom b = table.intern(text);
    ASSERT_TRUE(a && b);
    EXPECT_NE(a, b);
    EXPECT_EQ(b.text(), text);
    EXPECT_EQ(table.find(text), b);
  }
  EXPECT_EQ(table.gc(), 14U);
}

TEST(AtomTable, RefusesTextsThatAreTooLong) {
  AtomTable table;
  const char byte = 'x';
  EXPECT_EQ(table.error(), AtomError::None);
  // Nothing of it is read.
  EXPECT_FALSE(table.intern(std::string_view(&byte, std::size_t{SharedHeader::kLargestSize} + 1)));
  EXPECT_EQ(table.error(), AtomError::TooLong);
  EXPECT_FALSE(table.find(std::string_view(&byte, std::size_t{1} << 40)));
  const char16_t unit = u'x';
  EXPECT_FALSE(table.intern(std::u16string_view(&unit, std::size_t{SharedHeader::kLargestSize} + 1)));
  EXPECT_TRUE(table.intern("x"));
}

TEST(AtomTable, FindsOnlyWhatIsThere) {
  AtomTable table;
  EXPECT_FALSE(table.find("nothing yet"));
  Atom atom = table.intern("something");
  EXPECT_FALSE(table.find("somethinG"));
  EXPECT_EQ(table.find("something"), atom);
  EXPECT_EQ(table.find_handle("something"), atom.handle());
  EXPECT_EQ(table.find_handle("nothing"), 0U);
  EXPECT_EQ(SharedHeader::before(atom.characters())->references(), 2U) << "not counted";
  atom = {};
  EXPECT_TRUE(table.find("something")) << "unused, not gone";
  table.gc();
  EXPECT_FALSE(table.find("something"));
}

TEST(AtomTable, AsManyAsThereAreNumbers) {
  std::vector<std::unique_ptr<AtomTable>> tables;
  for (int i = 0; i < 255; ++i) {
    tables.push_back(std::make_unique<AtomTable>());
    ASSERT_TRUE(tables.back()->intern("each has its own"));
  }
  AtomTable one_more;
  EXPECT_FALSE(one_more.intern("x"));
  EXPECT_FALSE(one_more.find("x"));
  EXPECT_EQ(one_more.gc(), 0U);
  EXPECT_EQ(one_more.use().total_bytes, 0U);
  EXPECT_EQ(one_more.error(), AtomError::TooManyTables);
  tables.pop_back();
  AtomTable fits_again;
  EXPECT_TRUE(fits_again.intern("x"));
}

}  // namespace
}  // namespace tare
