// Atoms and Bytes as text for others: views, comparison, streams, formatters, hashes; and all atoms of a table.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iomanip>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tare/atom_table.h"
#include "tare/bytes.h"
#include "tare/format.h"
#include "tare/static_atoms.h"
#include "tare/text_stream.h"

namespace tare {
namespace {

std::size_t length_of(std::string_view text) { return text.size(); }

// The bytes that abseil's hash gets through AbslHashValue.
struct Combined {
  std::size_t state = 0;
  template <class... Values>
  static Combined combine(Combined so_far, const Values&... values) {
    ((so_far.state = so_far.state * 31 + std::hash<Values>()(values)), ...);
    return so_far;
  }
};

template <class Text>
void expect_text(const Text& text, std::string_view expected) {
  const std::string_view view = text;
  EXPECT_EQ(view, expected);
  EXPECT_EQ(length_of(text), expected.size());
  EXPECT_TRUE(text == expected && expected == text && text == std::string(expected));
  EXPECT_TRUE(text != "else");
  EXPECT_EQ(std::string(text.begin(), text.end()), expected);
  std::string characters;
  for (const char character : text) characters += character;
  EXPECT_EQ(characters, expected);

  TextStream tare_stream;
  tare_stream << "<" << text << ">";
  EXPECT_EQ(tare_stream.view(), "<" + std::string(expected) + ">");
  std::ostringstream stream;
  stream << std::setw(8) << text << '|';
  std::ostringstream model;
  model << std::setw(8) << expected << '|';
  EXPECT_EQ(stream.str(), model.str());
  EXPECT_EQ(fmt::format("{:>8}|{}", text, text), fmt::format("{:>8}|{}", expected, expected));
#if defined(__cpp_lib_format)
  EXPECT_EQ(std::format("{:>8}|{}", text, text), std::format("{:>8}|{}", expected, expected));
#endif
}

TEST(AtomText, IsWhatAViewIs) {
  AtomTable table;
  expect_text(table.intern("name"), "name");
  expect_text(table.intern(std::string_view("a\0b", 3)), std::string_view("a\0b", 3));
  expect_text(table.intern(""), "");
  const Atom null;
  EXPECT_TRUE(null == "" && null.empty());
  EXPECT_EQ(std::string_view(null), "");
}

TEST(BytesText, IsWhatAViewIs) {
  expect_text(Bytes::copy_of_text("name"), "name");
  expect_text(Bytes::of_static("rather a long text, on the heap").slice(0, 6), "rather");
  expect_text(Bytes::copy_of_text(""), "");
  EXPECT_TRUE(Bytes() == "");
  EXPECT_TRUE(Bytes::of_static("a") < "b");
  EXPECT_EQ(Bytes::of_static("abc")[1], 'b');
}

TEST(BytesText, AreKeysByTheirContents) {
  std::unordered_map<Bytes, int> map;
  map[Bytes::copy_of_text("one")] = 1;
  EXPECT_EQ(map.at(Bytes::of_static("one")), 1);
  EXPECT_EQ(AbslHashValue(Combined(), Bytes::copy_of_text("one")).state,
            AbslHashValue(Combined(), Bytes::of_static("one")).state);
}

TEST(AtomText, AreKeysByThemselves) {
  AtomTable table;
  const std::unordered_set<Atom> set{table.intern("one"), table.intern("two"), table.intern("one")};
  EXPECT_EQ(set.size(), 2u);
  EXPECT_EQ(AbslHashValue(Combined(), table.intern("one")).state, AbslHashValue(Combined(), table.intern("one")).state);
}

TEST(AtomTableWalk, SeesEachAtomOnce) {
  AtomTable table({.unused_threshold = 0xFFFFFFFF});
  EXPECT_EQ(table.size(), 0u);
  std::set<std::string> expected;
  std::vector<Atom> held;
  for (int i = 0; i < 10'000; ++i) {
    const std::string text = "atom " + std::to_string(i);
    expected.insert(text);
    Atom atom = table.intern(text);
    if (i % 2 == 0) held.push_back(std::move(atom));
  }
  EXPECT_EQ(table.size(), expected.size());
  std::multiset<std::string> seen;
  EXPECT_TRUE(table.for_each([&](const Atom& atom) { seen.emplace(atom.text()); }));
  EXPECT_TRUE(std::equal(seen.begin(), seen.end(), expected.begin(), expected.end()));
  table.gc();
  EXPECT_EQ(table.size(), held.size());
}

TEST(AtomTableWalk, MayMakeAndFreeAtoms) {
  AtomTable table;
  std::vector<Atom> held;
  for (int i = 0; i < 1000; ++i) held.push_back(table.intern(std::to_string(i)));
  std::size_t old = 0;
  EXPECT_TRUE(table.for_each([&](const Atom& atom) {
    if (atom.text().starts_with("new")) return;
    ++old;
    held.push_back(table.intern("new " + std::string(atom.text())));
    table.gc();
  }));
  EXPECT_EQ(old, 1000u);
}

TEST(AtomTableWalk, GoesOnWhileThreadsMakeAtoms) {
  AtomTable table;
  std::vector<Atom> held;
  for (int i = 0; i < 1000; ++i) held.push_back(table.intern("kept " + std::to_string(i)));
  std::thread other([&] {
    for (int i = 0; i < 20'000; ++i) static_cast<void>(table.intern("passing " + std::to_string(i)));
  });
  for (int round = 0; round < 20; ++round) {
    std::size_t kept = 0;
    EXPECT_TRUE(table.for_each([&](const Atom& atom) { kept += atom.text().starts_with("kept ") ? 1 : 0; }));
    EXPECT_EQ(kept, 1000u);
  }
  other.join();
}

}  // namespace
}  // namespace tare
