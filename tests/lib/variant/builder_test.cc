// The builder for types known at run time: what it refuses, where it stands, what it allocates.
#include "tare/variant/builder.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "lib/support/failing_malloc.h"
#include "lib/variant/bytes_literal.h"
#include "tare/variant/writer.h"

namespace tare::variant {
namespace {

using testing::operator""_b;

bool fill_dictionary(auto& builder, int entries) {
  builder.open_array();
  for (int i = 0; i < entries; ++i) {
    builder.open_entry();
    builder.add_text("key");
    builder.open_variant("u");
    builder.add_uint32(static_cast<std::uint32_t>(i));
    builder.close();
    builder.close();
  }
  return builder.close();
}

TEST(Builder, WritesADictionary) {
  Output out;
  Builder builder(out, "a{sv}");
  EXPECT_EQ(builder.wanted(), "a{sv}");
  fill_dictionary(builder, 2);
  EXPECT_EQ(builder.wanted(), "");
  EXPECT_EQ(builder.end().bytes(), "key\0\0\0\0\0\0\0\0\0\0u\4\0key\0\0\0\0\0\1\0\0\0\0u\4\x0F\x1F"_b);
  Output typed;
  EXPECT_EQ(out.bytes(), Writer<"a{sv}">::write(typed, std::pair("key", 0u), std::pair("key", 1u)).bytes());
}

TEST(Builder, FillsMemoryOfExactlyTheRightSize) {
  Output reference;
  for (const int entries : {1, 5, 30}) {
    Builder counting(reference, "a{sv}");
    fill_dictionary(counting, entries);
    const Written expected = counting.end();
    for (const std::size_t size : {expected.size(), expected.size() - 1}) {
      const std::unique_ptr<char[]> memory(new char[size]);
      Output out(std::span(memory.get(), size));
      Builder builder(out, "a{sv}");
      fill_dictionary(builder, entries);
      const Written written = builder.end();
      EXPECT_EQ(written.error(), size == expected.size() ? WriteError::None : WriteError::BufferFull);
      if (written) {
        EXPECT_EQ(written.bytes(), expected.bytes());
      }
    }
  }
}

TEST(Builder, KeepsTheFirstError) {
  Output out;
  const auto error_of = [&out](Type type, auto act) {
    Builder builder(out, type);
    act(builder);
    builder.add_text("\xFF");  // too late
    EXPECT_FALSE(builder.end());
    return builder.error();
  };
  using B = Builder;
  EXPECT_EQ(error_of("i", [](B& b) { b.add_uint32(1); }), WriteError::WrongType);
  EXPECT_EQ(error_of("i", [](B& b) { b.add_int32(1), b.add_int32(1); }), WriteError::WrongType);
  EXPECT_EQ(error_of("i", [](B& b) { b.close(); }), WriteError::WrongType);
  EXPECT_EQ(error_of("(ii)", [](B& b) { b.open(), b.add_int32(1), b.close(); }), WriteError::Incomplete);
  EXPECT_EQ(error_of("(ii)", [](B& b) { b.open(), b.add_int32(1), b.add_int32(1), b.add_int32(1); }),
            WriteError::WrongType);
  EXPECT_EQ(error_of("ai", [](B& b) { b.open(), b.add_int32(1), b.end(); }), WriteError::Incomplete);
  EXPECT_EQ(error_of("v", [](B& b) { b.open_variant("ai"), b.close(); }), WriteError::Incomplete);
  EXPECT_EQ(error_of("v", [](B& b) { b.open_variant("i"), b.add_int32(1), b.add_int32(2); }), WriteError::WrongType);
  EXPECT_EQ(error_of("v", [](B& b) { b.open_variant("(i)"), b.open(), b.add_int32(1), b.close(), b.open(); }),
            WriteError::WrongType);
  EXPECT_EQ(error_of("mai", [](B& b) { b.open(), b.close(); }), WriteError::Incomplete);
  EXPECT_EQ(error_of("mai", [](B& b) { b.open(), b.open(), b.close(), b.open(); }), WriteError::WrongType);
  EXPECT_EQ(error_of("v", [](B& b) { b.open(); }), WriteError::WrongType);
  EXPECT_EQ(error_of("s", [](B& b) { b.add_text("a\0"_b); }), WriteError::NotText);
  EXPECT_EQ(error_of("as", [](B&) {}), WriteError::WrongType);
}

TEST(Builder, StopsAtTheDeepestLevel) {
  Output out;
  // a variant in a variant...: 127 hold one another, the last one a number at level 127
  for (const std::size_t variants : {kDeepest - 1, kDeepest}) {
    Builder builder(out, "v");
    for (std::size_t i = 0; i + 1 < variants; ++i) builder.open_variant("v");
    builder.open_variant("i");
    builder.add_int32(1);
    for (std::size_t i = 0; i < variants; ++i) builder.close();
    const Written written = builder.end();
    EXPECT_EQ(written.error(), variants < kDeepest ? WriteError::None : WriteError::TooDeep);
    if (written) {
      EXPECT_TRUE(View("v", written.bytes()).is_normal());
    }
  }
  DBusBuilder dbus(out, "v");
  for (std::size_t i = 0; i < kDeepestDBusValue; ++i) EXPECT_TRUE(dbus.open_variant("v"));
  EXPECT_FALSE(dbus.open_variant("v"));
  EXPECT_EQ(dbus.end().error(), WriteError::TooDeep);
}

TEST(Builder, DBusHasNoMaybeAndNoEmptyTuple) {
  Output out;
  EXPECT_EQ(DBusBuilder(out, "mi").error(), WriteError::NotInDBus);
  EXPECT_EQ(DBusBuilder(out, "()").error(), WriteError::NotInDBus);
  DBusBuilder builder(out, "v");
  builder.open_variant("{sv}");
  EXPECT_EQ(builder.error(), WriteError::NotInDBus);
}

TEST(Builder, WritesWhatTheTypedWriterWritesForDBus) {
  Output out;
  Output typed;
  const std::vector<std::tuple<std::uint8_t, std::vector<bool>>> rows{{std::uint8_t{1}, {true, false}},
                                                                      {std::uint8_t{2}, {}}};
  for (const bool is_big : {false, true}) {
    DBusBuilder builder(out, "(sa(yab)xv)", is_big ? std::endian::big : std::endian::little);
    builder.open_tuple();
    builder.add_text("text");
    builder.open_array();
    for (const auto& [number, flags] : rows) {
      builder.open_tuple();
      builder.add_byte(number);
      builder.open_array();
      for (const bool flag : flags) builder.add_bool(flag);
      builder.close();
      builder.close();
    }
    builder.close();
    builder.add_int64(-1);
    builder.open_variant("ax");
    builder.open_array();
    builder.add_int64(7);
    builder.close();
    builder.close();
    builder.close();
    const std::vector<std::int64_t> inside{7};
    const Written expected = is_big ? Writer<"(sa(yab)xv)", DBusFormat<std::endian::big>>::write(
                                          typed, "text", rows, std::int64_t{-1}, inside)
                                    : Writer<"(sa(yab)xv)", DBusFormat<std::endian::little>>::write(
                                          typed, "text", rows, std::int64_t{-1}, inside);
    EXPECT_EQ(builder.end().bytes(), expected.bytes());
  }
}

TEST(Builder, TakesViewsInWhateverFormTheyAre) {
  Output source;
  ASSERT_TRUE(Writer<"(yas)">::write(source, std::uint8_t{1}, std::vector<std::string>{"a", "b"}));
  const View view("(yas)", source.bytes());
  Output out;
  Builder builder(out, "a(yas)");
  builder.open();
  builder.add_view(view);
  builder.add_view(View("(yas)", "\1\xFF"_b));  // no valid array
  builder.add_view(View());
  EXPECT_EQ(builder.error(), WriteError::WrongType);
  DBusBuilder dbus(out, "v");
  dbus.add_variant(view);
  Output typed;
  EXPECT_EQ(dbus.end().bytes(),
            (Writer<"v", DBusFormat<>>::write(
                 typed, as<"(yas)">(std::pair(std::uint8_t{1}, std::vector<std::string>{"a", "b"}))))
                .bytes());
}

TEST(Builder, FixedArraysAreCopiedAtOnce) {
  const std::vector<std::int32_t> numbers{1, 2, 3};
  Output out;
  Output typed;
  Builder builder(out, "ai");
  EXPECT_TRUE(builder.add_fixed_array(numbers.data(), numbers.size()));
  EXPECT_EQ(builder.end().bytes(), Writer<"ai">::write(typed, numbers).bytes());
  Builder big(out, "ai", std::endian::big);
  EXPECT_TRUE(big.add_fixed_array(numbers.data(), numbers.size()));
  EXPECT_EQ(big.end().bytes(), (Writer<"ai", GVariantFormat<std::endian::big>>::write(typed, numbers)).bytes());
  DBusBuilder dbus(out, "ai");
  EXPECT_TRUE(dbus.add_fixed_array(numbers.data(), numbers.size()));
  EXPECT_EQ(dbus.end().bytes(), (Writer<"ai", DBusFormat<>>::write(typed, numbers)).bytes());
  Builder texts(out, "as");
  EXPECT_FALSE(texts.add_fixed_array(numbers.data(), 1));
}

TEST(Builder, AllocatesNothingIntoAReusedBuffer) {
  Output out;
  const auto build = [&out](int entries) {
    Builder builder(out, "a{sv}");
    fill_dictionary(builder, entries);
    return static_cast<bool>(builder.end());
  };
  ASSERT_TRUE(build(100));
  const auto before = testing::malloc_counts();
  ASSERT_TRUE(build(100));
  EXPECT_EQ(testing::malloc_counts().mallocs - before.mallocs, 0u);
  EXPECT_EQ(testing::malloc_counts().reallocs - before.reallocs, 0u);
  ASSERT_TRUE(build(500));  // more ends than lie in the Builder
  {
    const testing::FailingMalloc failing;
    Builder builder(out, "a{sv}");
    fill_dictionary(builder, 500);
    EXPECT_EQ(builder.end().error(), WriteError::OutOfMemory);
  }
}

TEST(Builder, ComesBackToAMark) {
  Output out;
  Builder builder(out, Type("(sav)"));
  builder.open();
  builder.add_text("kept");
  builder.open();
  builder.open_variant(Type("u")) && builder.add_uint32(1) && builder.close();
  const auto mark = builder.mark();
  EXPECT_TRUE(builder.open_variant(Type("(sas)")) && builder.open() && builder.add_text("forgotten") && builder.open());
  EXPECT_FALSE(builder.add_text("\xFF"));
  EXPECT_EQ(builder.error(), WriteError::NotText);
  EXPECT_FALSE(builder.close());
  builder.rewind(mark);
  EXPECT_EQ(builder.error(), WriteError::None);
  EXPECT_EQ(builder.children_so_far(), 1u);
  builder.open_variant(Type("u")) && builder.add_uint32(2) && builder.close();
  EXPECT_TRUE(builder.close() && builder.close());
  const std::string bytes(builder.end().bytes());
  EXPECT_EQ(bytes, Writer<"(sav)">::write(out, "kept", elements(std::uint32_t{1}, std::uint32_t{2})).bytes());
}

TEST(Builder, LeavesRoomForBytesOfTheCallers) {
  char memory[8 + 4 + 1];  // no byte more than needed
  Output out{std::span<char>(memory)};
  Builder builder(out, Type("(yuay)"));
  builder.open();
  builder.add_byte(7);
  char* to = nullptr;
  ASSERT_TRUE(builder.add_room(4, to));
  EXPECT_EQ(to, memory + 4);
  std::memcpy(to, "\1\0\0\0", 4);
  ASSERT_TRUE(builder.add_room(5, to));
  std::memcpy(to, "bytes", 5);
  EXPECT_FALSE(builder.add_room(1, to));  // the tuple is complete
  EXPECT_EQ(builder.error(), WriteError::WrongType);
}

}  // namespace
}  // namespace tare::variant
