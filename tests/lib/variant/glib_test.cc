// GLib beside ours: the same bytes for random types and values, the same values for the same bytes, normal or not.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "lib/support/sanitized.h"
#include "lib/variant/glib_peer.h"
#include "tare/variant/c.h"

namespace tare {
namespace {

using testing::Choices;
using testing::For;
using testing::GlibValue;
using variant::Builder;
using variant::Output;
using variant::Type;
using variant::View;

constexpr int kValues = 4000 / kSanitizedDivisor;

std::vector<std::uint8_t> random_bytes(std::mt19937_64& random, std::size_t count) {
  std::vector<std::uint8_t> bytes(count);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

GlibValue random_value(std::mt19937_64& random) {
  const auto bytes = random_bytes(random, 400);
  Choices choices(bytes);
  const std::string type = testing::choose_type(choices, For::GVariant);
  return testing::take(testing::choose_value(choices, type, For::GVariant));
}

GlibValue from_bytes(const char* type, const std::string& bytes) {
  GBytes* copy = g_bytes_new(bytes.data(), bytes.size());
  GlibValue value = testing::take(g_variant_new_from_bytes(G_VARIANT_TYPE(type), copy, FALSE));
  g_bytes_unref(copy);
  return value;
}

TEST(GlibPeer, BuilderWritesTheSameBytes) {
  std::mt19937_64 random(1);
  Output out;
  for (int i = 0; i < kValues; ++i) {
    const GlibValue value = random_value(random);
    Builder builder(out, Type::trusted(g_variant_get_type_string(value.get())));
    testing::write_with(builder, value.get());
    const auto written = builder.end();
    ASSERT_TRUE(written) << describe(written.error()) << g_variant_get_type_string(value.get());
    ASSERT_EQ(written.bytes(), testing::bytes_of(value.get())) << g_variant_get_type_string(value.get());
  }
}

TEST(GlibPeer, ViewsReadTheSameValuesFromNormalBytes) {
  std::mt19937_64 random(2);
  for (int i = 0; i < kValues; ++i) {
    const GlibValue value = random_value(random);
    View view(Type::trusted(g_variant_get_type_string(value.get())), testing::bytes_of(value.get()));
    for (const bool is_trusted : {false, true}) {
      std::size_t steps = SIZE_MAX;
      ASSERT_EQ(testing::difference(value.get(), view, steps), "") << g_variant_get_type_string(value.get());
      ASSERT_EQ(view.is_trusted(), is_trusted);
      ASSERT_TRUE(view.validate());
    }
  }
}

TEST(GlibPeer, BothByteOrdersMeanTheSame) {
  std::mt19937_64 random(3);
  Output out;
  Output back;
  for (int i = 0; i < kValues; ++i) {
    const GlibValue value = random_value(random);
    const GlibValue other(g_variant_byteswap(value.get()));
    const View view(Type::trusted(g_variant_get_type_string(value.get())), testing::bytes_of(value.get()));
    const auto swapped = view.normal_form(out, std::endian::big);
    ASSERT_EQ(swapped.bytes(), testing::bytes_of(other.get())) << g_variant_get_type_string(value.get());
    const View big(view.type(), swapped.bytes(), std::endian::big);
    std::size_t steps = SIZE_MAX;
    ASSERT_EQ(testing::difference(value.get(), big, steps), "");
    ASSERT_EQ(big.normal_form(back, std::endian::little).bytes(), testing::bytes_of(value.get()));
    ASSERT_EQ(big, view);
    ASSERT_EQ(big.hash(), view.hash());
  }
}

// Bytes with errors: random ones, and values of which some bytes were changed.
TEST(GlibPeer, BrokenBytesMeanTheSameAndHaveTheSameNormalForm) {
  std::mt19937_64 random(4);
  Output out;
  int compared = 0;
  int not_normal = 0;
  for (int i = 0; i < 8 * kValues; ++i) {
    const GlibValue original = random_value(random);
    const std::string type = g_variant_get_type_string(original.get());
    std::string bytes(testing::bytes_of(original.get()));
    if (i % 8 == 0) {
      const auto noise = random_bytes(random, random() % 64);
      bytes.assign(noise.begin(), noise.end());
    }
    for (std::uint64_t changes = random() % 3; changes > 0 && !bytes.empty(); --changes) {
      // offsets and types lie at the end
      const std::size_t from_end =
          random() % 2 == 0 ? random() % bytes.size() : random() % std::min<std::size_t>(bytes.size(), 6);
      char& byte = bytes[bytes.size() - 1 - from_end];
      byte = static_cast<char>(random() % 2 == 0 ? random() : static_cast<unsigned>(byte) + random() % 5 - 2);
    }
    if (random() % 8 == 0 && !bytes.empty()) bytes.resize(bytes.size() - random() % bytes.size());
    const GlibValue theirs = from_bytes(type.c_str(), bytes);
    const View ours(Type::trusted(type), bytes);
    ASSERT_EQ(g_variant_is_normal_form(theirs.get()) != 0, ours.is_normal()) << type;
    not_normal += ours.is_normal() ? 0 : 1;
    std::size_t steps = 20000;
    if (testing::has_broken_first_member(ours, steps)) continue;
    ++compared;
    ASSERT_EQ(testing::difference(theirs.get(), ours, steps), "") << type << " of " << bytes.size();
    const GlibValue normal(g_variant_get_normal_form(theirs.get()));
    const auto written = ours.normal_form(out);
    ASSERT_TRUE(written) << describe(written.error());
    ASSERT_EQ(written.bytes(), testing::bytes_of(normal.get())) << type;
    View again(ours.type(), written.bytes());
    ASSERT_TRUE(again.validate());
    ASSERT_EQ(again, ours);
    ASSERT_EQ(again.hash(), ours.hash());
  }
  EXPECT_GT(compared, 4 * kValues);
  EXPECT_GT(not_normal, 2 * kValues);
}

// A value of GLib's written again with the C API, by turns as values and as calls of a builder.
tare_variant* written_again(GVariant* value, std::mt19937_64& random) {
  const char* type = g_variant_get_type_string(value);
  switch (type[0]) {
    case 's':
      return tare_variant_new_string(g_variant_get_string(value, nullptr));
    case 'o':
      return tare_variant_new_object_path(g_variant_get_string(value, nullptr));
    case 'g':
      return tare_variant_new_signature(g_variant_get_string(value, nullptr));
    default:
      break;
  }
  if (g_variant_is_container(value) == 0)
    return tare_variant_new_from_data(type, g_variant_get_data(value), g_variant_get_size(value));
  tare_variant_builder builder;
  tare_variant_builder_init(&builder, type);
  for (gsize i = 0; i < g_variant_n_children(value); ++i) {
    const GlibValue child(g_variant_get_child_value(value, i));
    const char* child_type = g_variant_get_type_string(child.get());
    if (g_variant_is_container(child.get()) == 0 || random() % 2 == 0) {
      tare_variant_builder_add_value(&builder, written_again(child.get(), random));
      continue;
    }
    tare_variant_builder_open(&builder, child_type);
    for (gsize j = 0; j < g_variant_n_children(child.get()); ++j) {
      const GlibValue grandchild(g_variant_get_child_value(child.get(), j));
      tare_variant_builder_add(&builder, "*", written_again(grandchild.get(), random));
    }
    tare_variant_builder_close(&builder);
  }
  return tare_variant_builder_end(&builder);
}

TEST(GlibPeer, TheCApiWritesTheSameBytes) {
  std::mt19937_64 random(5);
  for (int i = 0; i < kValues; ++i) {
    const GlibValue value = random_value(random);
    tare_variant* ours = written_again(value.get(), random);
    ASSERT_NE(ours, nullptr) << g_variant_get_type_string(value.get());
    ASSERT_STREQ(tare_variant_get_type_string(ours), g_variant_get_type_string(value.get()));
    const auto* bytes = static_cast<const char*>(tare_variant_get_data(ours));
    ASSERT_EQ(std::string_view(bytes, tare_variant_get_size(ours)), testing::bytes_of(value.get()));
    tare_variant_unref(ours);
  }
}

}  // namespace
}  // namespace tare
