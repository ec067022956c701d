// Static atoms: constants of the compiler that the same look-up finds, without heap and without counting.
#include "tare/static_atoms.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "tare/atom_table.h"

namespace tare {
namespace {

inline constexpr std::string_view kTagNames[] = {
    "div", "span", "class", "id", "", "a name of more than sixteen bytes", "html", "body", "\xC3\xA9"};
inline constexpr auto& kTags = static_atoms<kTagNames>;
inline constexpr std::string_view kOtherNames[] = {"href", "src"};
inline constexpr auto& kOthers = static_atoms<kOtherNames, 1>;
inline constexpr std::string_view kRivalNames[] = {"rival"};
inline constexpr auto& kRivals = static_atoms<kRivalNames, 1>;
inline constexpr std::string_view kUnregisteredNames[] = {"never registered"};
inline constexpr auto& kUnregistered = static_atoms<kUnregisteredNames, 5>;

// 2,000 names, about as many as Firefox has, to see that compilers bear it.
constexpr std::size_t kMany = 2000;
constexpr auto kManyCharacters = [] {
  std::array<char, kMany * 6> characters{};
  for (std::size_t i = 0; i < kMany; ++i) {
    characters[i * 6] = 'n';
    for (std::size_t j = 0, rest = i; j < 5; ++j, rest /= 10) {
      characters[i * 6 + 5 - j] = static_cast<char>('0' + rest % 10);
    }
  }
  return characters;
}();
template <std::size_t... kIndex>
struct ManyNames {
  static constexpr std::string_view kNames[] = {{kManyCharacters.data() + kIndex * 6, 6}...};
};
template <std::size_t... kIndex>
ManyNames<kIndex...> many_names(std::index_sequence<kIndex...>);
inline constexpr auto& kManyAtoms = static_atoms<decltype(many_names(std::make_index_sequence<kMany>()))::kNames, 2>;

static constexpr Atom kDiv = kTags["div"];
static_assert(kDiv == kTags.at(0) && kDiv.is_static() && kDiv.handle() == 1);
static_assert(kOthers["src"].handle() == 8192 + 2);
static_assert(kTags.size() == 9 && kTags.text(1) == "span");
static_assert(std::hash<Atom>()(kDiv) != std::hash<Atom>()(kTags["span"]));

TEST(StaticAtoms, TheSameLookUpFindsThem) {
  AtomTable table({.static_lists = {&kTags.list, &kOthers.list, &kManyAtoms.list}});
  for (std::size_t i = 0; i < kTags.size(); ++i) {
    EXPECT_EQ(table.intern(kTags.text(i)), kTags.at(i)) << kTags.text(i);
    EXPECT_EQ(table.find(kTags.text(i)), kTags.at(i));
    EXPECT_EQ(table.find_handle(kTags.text(i)), kTags.at(i).handle());
    EXPECT_EQ(kTags.at(i).text(), kTags.text(i));
    EXPECT_EQ(kTags.at(i).characters()[kTags.text(i).size()], '\0');
  }
  for (std::size_t i = 0; i < kMany; ++i) EXPECT_EQ(table.intern(kManyAtoms.text(i)), kManyAtoms.at(i));
  EXPECT_EQ(table.intern(u"div"), kDiv);
  EXPECT_EQ(table.intern("src"), kOthers["src"]);
  EXPECT_FALSE(table.intern("di").is_static());
  EXPECT_FALSE(table.intern("a name of more than sixteen byteS").is_static());
  EXPECT_EQ(table.use().static_atoms, 11 + kMany);
  EXPECT_EQ(table.use().used_atoms + table.use().unused_atoms, 2U) << "no static atom is in the table";
}

TEST(StaticAtoms, AreTheSameInAllTables) {
  AtomTable a({.static_lists = {&kTags.list}});
  AtomTable b({.static_lists = {&kTags.list}});
  EXPECT_EQ(a.intern("html"), b.intern("html"));
  EXPECT_NE(a.intern("dynamic"), b.intern("dynamic"));
  AtomTable without;
  EXPECT_FALSE(without.intern("html").is_static());
}

TEST(StaticAtoms, CountNothing) {
  AtomTable table({.static_lists = {&kTags.list}});
  {
    const Atom copy = kDiv;
    SharedHeader* share = copy.share();
    EXPECT_EQ(share->owner(), SharedOwner::Static);
    EXPECT_EQ(share->text(), "div");
    share->release();
    share->release();  // as often as one likes
    acquire_characters(copy.characters());
  }
  EXPECT_EQ(SharedHeader::before(kDiv.characters())->references(), SharedHeader::kImmortal);
  EXPECT_EQ(table.gc(), 0U);
}

TEST(StaticAtoms, ANumberBelongsToOneList) {
  AtomTable first({.static_lists = {&kOthers.list}});
  AtomTable second({.static_lists = {&kRivals.list}});
  EXPECT_FALSE(second.intern("anything"));
  EXPECT_EQ(second.error(), AtomError::StaticListTaken);
  EXPECT_STREQ(describe(second.error()), "two lists of static atoms have the same number");
  EXPECT_TRUE(register_static_atoms(kOthers.list)) << "again does no harm";
}

TEST(StaticAtoms, ReadAsEmptyBeforeTheirListIsKnown) {
  EXPECT_EQ(kUnregistered.at(0).text(), "");
  EXPECT_EQ(kUnregistered.text(0), "never registered");
  EXPECT_TRUE(register_static_atoms(kUnregistered.list));
  EXPECT_EQ(kUnregistered.at(0).text(), "never registered");
}

}  // namespace
}  // namespace tare
