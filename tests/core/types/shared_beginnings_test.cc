// Orders keep the fields that several structs of C begin with.
#include "core/types/shared_beginnings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace tare::core {
namespace {

constexpr std::uint64_t kByteBits = 8;

// A struct of C with these fields, in the compiler's order, and the order that would be proposed without the others.
TypeLayout made(std::string name, const std::vector<std::pair<std::string, std::uint32_t>>& fields,
                std::vector<std::uint32_t> order, std::uint64_t reordered_bytes) {
  TypeLayout type;
  type.name = std::move(name);
  type.language = Language::C;
  std::uint64_t end = 0;
  for (const auto& [field, bytes] : fields) {
    end = (end + bytes - 1) / bytes * bytes;
    type.fields.push_back(
        {field, bytes == 8 ? "void *" : "int", FieldKind::Member, end * kByteBits, bytes * kByteBits, bytes});
    type.align_bytes = std::max(type.align_bytes, bytes);
    end += bytes;
  }
  type.size_bytes = (end + type.align_bytes - 1) / type.align_bytes * type.align_bytes;
  type.narrow_bytes = type.narrow_reordered_bytes = type.size_bytes;
  type.order = std::move(order);
  type.reordered_bytes = reordered_bytes;
  return type;
}

// The nodes of libxml2: `type` "must be second".
TypeLayout node(std::string name, std::vector<std::pair<std::string, std::uint32_t>> more, std::uint64_t reordered,
                std::vector<std::uint32_t> order) {
  more.insert(more.begin(), {{"_private", 8}, {"type", 4}, {"name", 8}});
  return made(std::move(name), more, std::move(order), reordered);
}

TEST(SharedBeginnings, StayAndTheRestMoves) {
  std::vector<TypeLayout> types = {
      node("xmlNode", {{"line", 4}, {"psvi", 8}, {"extra", 4}}, 40, {0, 2, 4, 1, 3, 5}),
      node("xmlAttr", {{"atype", 8}}, 32, {}),
  };
  ASSERT_EQ(types[0].size_bytes, 48u);
  keep_shared_beginnings(types);
  EXPECT_EQ(types[0].reordered_bytes, 40u);
  EXPECT_EQ(types[0].order, (std::vector<std::uint32_t>{0, 1, 2, 4, 3, 5}));
}

TEST(SharedBeginnings, LeaveNoOrderWhereNothingElseSaves) {
  std::vector<TypeLayout> types = {
      node("xmlNode", {{"line", 4}}, 24, {0, 2, 1, 3}),
      node("xmlAttr", {{"atype", 8}}, 32, {}),
  };
  ASSERT_EQ(types[0].size_bytes, 32u);
  types[0].narrow_order = {1, 0, 2, 3};
  types[0].narrow_reordered_bytes = 20;
  keep_shared_beginnings(types);
  EXPECT_TRUE(types[0].order.empty());
  EXPECT_EQ(types[0].reordered_bytes, 32u);
  EXPECT_TRUE(types[0].narrow_order.empty());
  EXPECT_EQ(types[0].narrow_reordered_bytes, 32u);
}

TEST(SharedBeginnings, OfOneTypeOrOfOneFieldAreNone) {
  // The same struct as two units have it, and one that has only a pointer in common with it.
  std::vector<TypeLayout> types = {
      node("xmlNode", {{"line", 4}}, 24, {0, 2, 1, 3}),
      node("xmlNode", {{"line", 4}, {"psvi", 8}}, 32, {0, 2, 1, 3, 4}),
      made("other", {{"_private", 8}, {"count", 4}}, {}, 16),
  };
  keep_shared_beginnings(types);
  EXPECT_EQ(types[0].reordered_bytes, 24u);
  EXPECT_EQ(types[0].order, (std::vector<std::uint32_t>{0, 2, 1, 3}));
  EXPECT_EQ(types[1].reordered_bytes, 32u);
}

TEST(SharedBeginnings, OfOtherLanguagesMayMove) {
  std::vector<TypeLayout> types = {
      node("xmlNode", {{"line", 4}}, 24, {0, 2, 1, 3}),
      node("xmlAttr", {{"atype", 8}}, 32, {}),
  };
  for (TypeLayout& type : types) type.language = Language::Cxx;
  keep_shared_beginnings(types);
  EXPECT_EQ(types[0].reordered_bytes, 24u);
}

TEST(SharedBeginnings, AreOneFieldIfItHasFields) {
  const auto object = [](std::string name, std::vector<std::uint32_t> order) {
    TypeLayout type = made(std::move(name), {{"flag", 4}, {"next", 8}, {"count", 4}}, std::move(order), 16);
    // struct base { void *a, *b; } before all others, after the flag in the order.
    for (Field& field : type.fields) field.offset_bits += 16 * kByteBits;
    type.fields.insert(type.fields.begin(), {"base", "base", FieldKind::Member, 0, 16 * kByteBits, 8});
    type.size_bytes += 16;
    type.reordered_bytes = 32;
    return type;
  };
  std::vector<TypeLayout> types = {object("one", {2, 0, 1, 3}), object("two", {})};
  types[1].fields[1].name = "state";
  ASSERT_EQ(types[0].size_bytes, 40u);
  keep_shared_beginnings(types);
  EXPECT_EQ(types[0].reordered_bytes, 32u);
  EXPECT_EQ(types[0].order.front(), 0u);
}

}  // namespace
}  // namespace tare::core
