// Layouts of one source's types, as several compilers' options write them, against what the compiler says of them here.
#include "core/types/layout_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "fixture_types.h"
#include "support/temp_dir.h"

namespace tare::core {
namespace {

namespace fs = std::filesystem;
using Types = std::map<std::string, TypeLayout>;

Types read(const fs::path& path, std::vector<std::string>* warnings = nullptr) {
  Types types;
  auto binary = DebugBinary::open(path, {});
  if (!binary) {
    ADD_FAILURE() << binary.error().message;
    return types;
  }
  std::uint64_t last = 0;
  auto read = read_layouts(
      **binary,
      [&](TypeLayout&& layout) {
        const std::string name = layout.name;
        EXPECT_TRUE(types.emplace(name, std::move(layout)).second || !name.starts_with("fixture::")) << name;
      },
      [&](std::uint64_t done, std::uint64_t total) {
        EXPECT_LE(last, done);
        EXPECT_LE(done, total);
        last = done;
      });
  EXPECT_TRUE(read);
  if (read && warnings != nullptr) *warnings = read->warnings;
  return types;
}

// As the compiler of the fixture writes it.
#if defined(__clang__)
constexpr const char* kTemplate = "fixture::Template<short, 5>";
#else
constexpr const char* kTemplate = "fixture::Template<short int, 5>";
#endif

fs::path fixture_file(const std::string& name) { return fs::path(FIXTURE_DIR) / ("layout_fixture_" + name); }

class Layouts : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { types_ = read(fixture_file(GetParam()), &warnings_); }
  const TypeLayout& type(const std::string& name) {
    const auto found = types_.find(name);
    EXPECT_NE(found, types_.end()) << name;
    return found == types_.end() ? none_ : found->second;
  }
  bool is_old() const { return GetParam() == "dwarf3"; }  // which can't say what alignas said
  bool names_all() const { return !GetParam().starts_with("types"); }
  // Of a type in another unit, gcc's fields name that unit, and clang's name a declaration in the type's scope.
  bool names_scopes() const {
#if defined(__clang__)
    return true;
#else
    return names_all();
#endif
  }
  static const Field& field(const TypeLayout& layout, const std::string& name) {
    for (const Field& each : layout.fields) {
      if (each.name == name) return each;
    }
    ADD_FAILURE() << layout.name << " has no " << name;
    static const Field none;
    return none;
  }
  static std::vector<std::string> names(const TypeLayout& layout, const std::vector<std::uint32_t>& order) {
    std::vector<std::string> names;
    for (const std::uint32_t i : order) names.push_back(layout.fields[i].name);
    return names;
  }

  Types types_;
  std::vector<std::string> warnings_;
  TypeLayout none_;
};

#define EXPECT_PLACE(Type, member)                                                                     \
  EXPECT_EQ(field(type("fixture::" #Type), #member).offset_bits, offsetof(fixture::Type, member) * 8); \
  EXPECT_EQ(field(type("fixture::" #Type), #member).size_bits, sizeof(fixture::Type::member) * 8)

#define EXPECT_SIZE(Type)                                                                                    \
  EXPECT_EQ(std::pair(type("fixture::" #Type).size_bytes, std::size_t{type("fixture::" #Type).align_bytes}), \
            std::pair(sizeof(fixture::Type), alignof(fixture::Type)))

TEST_P(Layouts, SizesAndPlacesAreTheCompilers) {
  EXPECT_TRUE(warnings_.empty());
  EXPECT_SIZE(Holes);
  EXPECT_PLACE(Holes, second);
  EXPECT_PLACE(Holes, fourth);
  EXPECT_SIZE(Bits);
  EXPECT_PLACE(Bits, c);
  EXPECT_SIZE(InTail);
  EXPECT_SIZE(NoAddress);
  if (!is_old()) {
    EXPECT_SIZE(Line);
  }
  EXPECT_SIZE(Packed);
  EXPECT_SIZE(Virtual);
  EXPECT_SIZE(Derived);
  EXPECT_SIZE(Furthest);
  EXPECT_SIZE(Either);
  if (names_all()) {
    EXPECT_SIZE(Named);
  }
  EXPECT_SIZE(Anonymous);
  EXPECT_PLACE(Anonymous, pair);
  EXPECT_PLACE(Anonymous, f);
  EXPECT_SIZE(Pointers);
  EXPECT_SIZE(Functions);
  EXPECT_PLACE(Functions, b);
  EXPECT_PLACE(Functions, c);
  EXPECT_SIZE(Flexible);
  EXPECT_PLACE(Arrays, a);
  EXPECT_PLACE(Arrays, c);
  EXPECT_PLACE(Arrays, d);
  EXPECT_SIZE(Outer);
  EXPECT_SIZE(Outer::Inner);
  EXPECT_SIZE(Coloured);
  EXPECT_PLACE(Coloured, colour);
  EXPECT_EQ(type(kTemplate).size_bytes, 12u);
  EXPECT_EQ(type("main()::Local").size_bytes, 16u);
}

TEST_P(Layouts, HolesAreFound) {
  const TypeLayout& holes = type("fixture::Holes");
  EXPECT_EQ(holes.holes, (std::vector<Hole>{{8, 56}, {136, 24}}));
  EXPECT_EQ(holes.hole_bytes, 10u);
  EXPECT_EQ(holes.tail_padding_bytes(), 7u);
  EXPECT_EQ(holes.reordered_bytes, 16u);
  EXPECT_EQ(holes.cache_lines, 1u);
  const TypeLayout& bits = type("fixture::Bits");  // a:3 b:7 | c at 2 | 5 bytes | d:40 at 8 | 3 bytes | e at 16? at 16
  EXPECT_EQ(field(bits, "b").offset_bits, 3u);
  EXPECT_EQ(field(bits, "b").size_bits, 7u);
  EXPECT_EQ(field(bits, "b").kind, FieldKind::BitField);
  EXPECT_EQ(bits.hole_bits, 6u);
}

TEST_P(Layouts, OrdersRemoveThem) {
  const TypeLayout& holes = type("fixture::Holes");
  EXPECT_EQ(holes.order_state, OrderState::Movable);
  EXPECT_EQ(holes.order.size(), holes.fields.size());
  const TypeLayout& in_tail = type("fixture::InTail");
  EXPECT_EQ(in_tail.order_state, OrderState::Movable);
  EXPECT_EQ(in_tail.size_bytes, 32u);
  EXPECT_EQ(in_tail.reordered_bytes, 24u);  // both characters in the base's rest
  EXPECT_EQ(in_tail.fields[in_tail.order.front()].kind, FieldKind::Base);
  EXPECT_EQ(type("fixture::Virtual").reordered_bytes, 24u);
  EXPECT_EQ(type("fixture::Virtual").fields[type("fixture::Virtual").order.front()].kind, FieldKind::TablePointer);
  EXPECT_EQ(type("fixture::Packed").order_state, OrderState::Packed);
  EXPECT_EQ(type("fixture::Either").order_state, OrderState::Overlaid);
  if (!is_old()) {
    EXPECT_EQ(type("fixture::Line").order_state, OrderState::Movable);
  }
  EXPECT_TRUE(type("fixture::Line").order.empty());  // 64 in any order
  EXPECT_EQ(type("fixture::Flexible").fields.back().kind, FieldKind::Flexible);
  if (names_all()) {
    EXPECT_EQ(type("fixture::Named").reordered_bytes, 16u);
  }
  EXPECT_EQ(type("fixture::NoAddress").order_state, OrderState::Movable);
}

TEST_P(Layouts, VirtualBasesAreLaidOutBehind) {
  const TypeLayout& derived = type("fixture::Derived");
  EXPECT_EQ(derived.order_state, OrderState::Movable);
  EXPECT_LT(derived.reordered_bytes, derived.size_bytes);
  EXPECT_TRUE(derived.is_polymorphic);
  EXPECT_EQ(derived.fields.back().kind, FieldKind::VirtualBase);
  EXPECT_EQ(type("fixture::Furthest").tail_padding_bytes(), 0u);  // the virtual base of its base lies there
}

TEST_P(Layouts, NarrowPointersBeforeAndAfterReordering) {
  const TypeLayout& pointers = type("fixture::Pointers");
  EXPECT_EQ(pointers.pointers, 2u);
  EXPECT_EQ(pointers.narrow_bytes, 12u);
  const TypeLayout& padding = type("fixture::NarrowPadding");
  EXPECT_EQ(padding.size_bytes, 32u);
  EXPECT_EQ(padding.reordered_bytes, 32u);
  EXPECT_EQ(padding.narrow_bytes, 32u);  // all of it eaten by padding
  EXPECT_EQ(padding.narrow_reordered_bytes, 24u);
  EXPECT_EQ(type("fixture::Functions").pointers, 0u);
  EXPECT_EQ(type("fixture::Virtual").pointers, 0u);
}

TEST_P(Layouts, TypesWithoutNamesAreCalledAfterTheirMembers) {
  if (!names_all()) GTEST_SKIP() << "what they are the type of lies in other units";
  EXPECT_EQ(type("fixture::Anonymous::pair").size_bytes, 8u);
  EXPECT_EQ(type("fixture::Anonymous::pair").hole_bytes, 3u);
  EXPECT_EQ(type("fixture::Anonymous::(anonymous)").kind, TypeKind::Union);
}

TEST_P(Layouts, FieldsHaveTheirTypesNames) {
  EXPECT_EQ(field(type("fixture::All"), "holes").type, names_scopes() ? "fixture::Holes *" : "Holes *");
  EXPECT_EQ(field(type("fixture::Coloured"), "other").type, names_scopes() ? "fixture::Colour *" : "Colour *");
  EXPECT_EQ(field(type("fixture::Functions"), "a").type, "void (*)(int, char *)");
  EXPECT_EQ(field(type("fixture::Either"), "a").type, "char[9]");
}

TEST_P(Layouts, StandardLayoutIsTold) {
  EXPECT_TRUE(type("fixture::Holes").is_standard_layout);
  EXPECT_FALSE(type("fixture::Virtual").is_standard_layout);
  EXPECT_EQ(type("fixture::InTail").is_standard_layout, std::is_standard_layout_v<fixture::InTail>);
  EXPECT_EQ(type("fixture::All").is_standard_layout, std::is_standard_layout_v<fixture::All>);
}

INSTANTIATE_TEST_SUITE_P(Options, Layouts,
                         ::testing::Values("dwarf5", "dwarf4", "dwarf3", "compressed", "types", "split", "object",
                                           "object4", "compressed_object", "types_object4", "types_object5"),
                         [](const auto& parameter) { return parameter.param; });

TEST(LayoutFiles, PlacesInTheSourceAreKnown) {
  const Types types = read(fixture_file("dwarf5"));
  const auto holes = types.find("fixture::Holes");
  ASSERT_NE(holes, types.end());
  EXPECT_TRUE(holes->second.file.ends_with("tests/core/types/fixture_types.h")) << holes->second.file;
  EXPECT_GT(holes->second.line, 10u);
}

TEST(LayoutFiles, SaysWhatIsWrongWithAFile) {
  const test::TempDir folder;
  auto missing = DebugBinary::open(folder / "nothing", {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::Io);
  std::ofstream(folder / "text") << "no program at all, only some words that are long enough for a header of ELF files";
  auto text = DebugBinary::open(folder / "text", {});
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().kind, ErrorKind::NotABinary);
  auto stripped = DebugBinary::open(fixture_file("none"), {});
  ASSERT_FALSE(stripped);
  EXPECT_EQ(stripped.error().kind, ErrorKind::NoDebugInfo);
}

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Whatever is cut off or overwritten: types or an error, never a crash.
TEST(LayoutFiles, DamageIsSurvived) {
  const std::string whole = bytes_of(fixture_file("dwarf5"));
  std::uint64_t seed = 12345;
  for (int round = 0; round < 60; ++round) {
    std::string bytes = whole;
    if (round % 4 == 0) {
      bytes.resize(whole.size() * static_cast<std::size_t>(round + 1) / 61);
    } else {
      for (int i = 0; i < 200; ++i) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        bytes[(seed >> 20) % bytes.size()] = static_cast<char>(seed >> 12);
      }
      bytes.replace(0, 64, whole, 0, 64);  // the header stays, so that something is read
    }
    auto binary = DebugBinary::from_bytes(std::move(bytes), "damaged");
    if (!binary) continue;
    std::uint64_t types = 0;
    const auto read = read_layouts(**binary, [&](TypeLayout&&) { ++types; }, {});
    if (read) {
      EXPECT_EQ(read->types, types);
    } else {
      EXPECT_EQ(read.error().kind, ErrorKind::Corrupt);
    }
  }
}

}  // namespace
}  // namespace tare::core
