// D-Bus messages: bytes worked out by hand, what is refused, headers that change while the body stays.
#include "tare/variant/dbus_message.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "lib/variant/bytes_literal.h"
#include "tare/variant/builder.h"
#include "tare/variant/convert.h"

namespace tare::variant {
namespace {

using testing::operator""_b;

DBusHeader ping() {
  DBusHeader header;
  header.serial = 7;
  header.path = "/a";
  header.member = "Ping";
  return header;
}

TEST(DBusMessage, WritesTheBytesOfTheSpecification) {
  Output out;
  const Written message = write_dbus_message<"(u)", std::endian::little>(out, ping(), 5u);
  EXPECT_EQ(message.bytes(),
            "l\1\0\1\4\0\0\0\7\0\0\0\x27\0\0\0"
            "\1\1o\0\2\0\0\0/a\0\0\0\0\0\0"
            "\3\1s\0\4\0\0\0Ping\0\0\0\0"
            "\x08\1g\0\1u\0\0\5\0\0\0"_b);
}

TEST(DBusMessage, ComesBackAsItWent) {
  DBusHeader header = ping();
  header.type = DBusMessageType::Signal;
  header.flags = DBusHeader::kNoReplyExpected;
  header.interface = "org.tare.Test";
  header.sender = ":1.5";
  header.destination = "org.tare.Other-name";
  header.unix_fds = 2;
  Output out;
  for (const bool is_big : {false, true}) {
    const auto write = [&](Output& to) {
      const auto entries = std::pair("key", as<"(ys)">(std::pair(std::uint8_t{1}, "text")));
      const std::vector<std::int64_t> numbers{1, 2};
      return is_big
                 ? write_dbus_message<"(sa{sv}ax)", std::endian::big>(to, header, "hi", elements(entries), numbers)
                 : write_dbus_message<"(sa{sv}ax)", std::endian::little>(to, header, "hi", elements(entries), numbers);
    };
    const Written written = write(out);
    ASSERT_TRUE(written) << describe(written.error());
    // memory of exactly the right size will do
    const std::unique_ptr<char[]> memory(new char[written.size()]);
    Output exact(std::span(memory.get(), written.size()));
    EXPECT_EQ(write(exact).bytes(), written.bytes());
    Output small(std::span(memory.get(), written.size() - 1));
    EXPECT_EQ(write(small).error(), WriteError::BufferFull);

    EXPECT_EQ(DBusMessage::size_of(written.bytes().substr(0, 16)), written.size());
    const auto message = DBusMessage::parse(written.bytes());
    ASSERT_TRUE(message.has_value());
    EXPECT_EQ(message->header().type, DBusMessageType::Signal);
    EXPECT_EQ(message->header().serial, 7u);
    EXPECT_EQ(message->header().flags, 1);
    EXPECT_EQ(message->header().path, "/a");
    EXPECT_EQ(message->header().interface, "org.tare.Test");
    EXPECT_EQ(message->header().member, "Ping");
    EXPECT_EQ(message->header().sender, ":1.5");
    EXPECT_EQ(message->header().destination, "org.tare.Other-name");
    EXPECT_EQ(message->header().unix_fds, 2u);
    EXPECT_EQ(message->signature(), "sa{sv}ax");
    EXPECT_EQ(message->body().child_count(), 3u);
    EXPECT_EQ(message->body().child(0).text(), "hi");
    EXPECT_EQ(message->body().child(1).lookup("key")->child(1).text(), "text");
    EXPECT_FALSE(message->body().child(1).lookup("kez").has_value());
    EXPECT_EQ(message->body().child(2).to<std::vector<std::int64_t>>(), (std::vector<std::int64_t>{1, 2}));
    const auto map = message->body().child(1).to<std::map<std::string, DBusView>>();
    ASSERT_TRUE(map.has_value());
    EXPECT_EQ((map->at("key").to<std::pair<std::uint8_t, std::string>>()),
              std::pair(std::uint8_t{1}, std::string("text")));
  }
}

TEST(DBusMessage, HeadersChangeAndBodiesStay) {
  Output out;
  ASSERT_TRUE((write_dbus_message<"(sx)">(out, ping(), "body", std::int64_t{-1})));
  std::string bytes(out.bytes());
  DBusMessage::set_serial(std::span(bytes.data(), bytes.size()), 0x01020304);
  const auto message = DBusMessage::parse(bytes);
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(message->header().serial, 0x01020304u);
  DBusHeader changed = message->header();
  changed.sender = ":1.234567";
  changed.destination = "org.tare.Somewhere";
  Output head;
  const Written header = message->write_header(head, changed);
  ASSERT_TRUE(header);
  const std::string joined = std::string(header.bytes()) + std::string(message->body_bytes());
  const auto again = DBusMessage::parse(joined);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->header().sender, ":1.234567");
  EXPECT_EQ(again->header().serial, 0x01020304u);
  EXPECT_EQ(again->body().child(0).text(), "body");
  EXPECT_EQ(again->body().child(1).as_int64(), -1);
}

TEST(DBusMessage, KeepsFieldsThatItDoesntKnow) {
  const std::string exact(
      "l\1\0\1\0\0\0\0\7\0\0\0\x26\0\0\0"
      "\1\1o\0\2\0\0\0/a\0\0\0\0\0\0"
      "\3\1s\0\4\0\0\0Ping\0\0\0\0"
      "\xC8\1q\0\5\0\0\0"_b);
  const auto message = DBusMessage::parse(exact);
  ASSERT_TRUE(message.has_value());
  Output out;
  DBusHeader changed = message->header();
  changed.sender = ":1.1";
  const Written header = message->write_header(out, changed);
  ASSERT_TRUE(header);
  const auto again = DBusMessage::parse(header.bytes());
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->header().sender, ":1.1");
  EXPECT_NE(header.bytes().find("\xC8\1q\0\5\0"_b), std::string_view::npos);
}

TEST(DBusMessage, RefusesHeadersThatAreNone) {
  Output out;
  const auto error_of = [&out](auto change) {
    DBusHeader header = ping();
    change(header);
    return write_dbus_message<"()">(out, header).error();
  };
  EXPECT_EQ(error_of([](DBusHeader&) {}), WriteError::None);
  EXPECT_EQ(error_of([](DBusHeader& h) { h.serial = 0; }), WriteError::BadHeader);
  EXPECT_EQ(error_of([](DBusHeader& h) { h.path = ""; }), WriteError::BadHeader);
  EXPECT_EQ(error_of([](DBusHeader& h) { h.path = "a"; }), WriteError::BadHeader);
  EXPECT_EQ(error_of([](DBusHeader& h) { h.member = "1a"; }), WriteError::BadHeader);
  EXPECT_EQ(error_of([](DBusHeader& h) { h.member = "a.b"; }), WriteError::BadHeader);
  EXPECT_EQ(error_of([](DBusHeader& h) { h.interface = "org"; }), WriteError::BadHeader);
  EXPECT_EQ(error_of([](DBusHeader& h) { h.interface = "org..tare"; }), WriteError::BadHeader);
  EXPECT_EQ(error_of([](DBusHeader& h) { h.destination = "org.1tare"; }), WriteError::BadHeader);
  EXPECT_EQ(error_of([](DBusHeader& h) { h.sender = ":1"; }), WriteError::BadHeader);
  EXPECT_EQ(error_of([](DBusHeader& h) { h.type = DBusMessageType::Error; }), WriteError::BadHeader);
  EXPECT_EQ(error_of([](DBusHeader& h) { h.type = DBusMessageType::Signal; }), WriteError::BadHeader);
}

TEST(DBusMessage, RefusesBytesThatAreNone) {
  Output out;
  ASSERT_TRUE((write_dbus_message<"(sb)">(out, ping(), "text", true)));
  const std::string good(out.bytes());
  const auto problem_of = [&good](auto change) {
    std::string bytes = good;
    change(bytes);
    DBusError problem{};
    DBusMessage::parse(bytes, &problem);
    return problem;
  };
  EXPECT_EQ(problem_of([](std::string&) {}), DBusError::None);
  EXPECT_EQ(problem_of([](std::string& b) { b.resize(10); }), DBusError::TooShort);
  EXPECT_EQ(problem_of([](std::string& b) { b.pop_back(); }), DBusError::TooShort);
  EXPECT_EQ(problem_of([](std::string& b) { b += 'x'; }), DBusError::TooLarge);
  EXPECT_EQ(problem_of([](std::string& b) { b[7] = 0x7F; }), DBusError::TooLarge);
  EXPECT_EQ(problem_of([](std::string& b) { b[0] = 'x'; }), DBusError::BadStart);
  EXPECT_EQ(problem_of([](std::string& b) { b[3] = 2; }), DBusError::BadStart);
  EXPECT_EQ(problem_of([](std::string& b) { b[16] = 3; }), DBusError::BadHeader);          // a path as a member
  EXPECT_EQ(problem_of([](std::string& b) { b[24] = 'x'; }), DBusError::BadHeader);        // of the path's text
  EXPECT_EQ(problem_of([](std::string& b) { b[b.size() - 1] = 1; }), DBusError::BadBody);  // a bool of more than 1
  EXPECT_EQ(problem_of([](std::string& b) { b[b.size() - 5] = 1; }), DBusError::BadBody);  // padding
  EXPECT_EQ(problem_of([](std::string& b) { b[b.size() - 12] = '\xFF'; }), DBusError::BadBody);
}

TEST(DBusView, LevelsAndLengthsAreLimited) {
  std::string variants;
  for (int i = 0; i < 100; ++i) variants += "\1v\0"_b;
  variants += "\1y\0\5"_b;
  EXPECT_FALSE(DBusView::parse("v", variants).has_value());
  EXPECT_TRUE(DBusView::parse("v", variants.substr(variants.size() - 3 * 60 - 4)).has_value());
  EXPECT_FALSE(DBusView::parse("ay", "\xFF\xFF\xFF\x7F"_b).has_value());
  EXPECT_FALSE(DBusView::parse("ai", "\2\0\0\0\1\0"_b).has_value());
  EXPECT_FALSE(DBusView::parse("g", "\1\0"_b).has_value());
  EXPECT_FALSE(DBusView::parse("v", "\2ii\0\0\0\0\0\0\0\0\0"_b).has_value());
  EXPECT_FALSE(DBusView::parse("s", "\xFF\xFF\xFF\xFF"_b).has_value());
}

// Any change of one byte either is refused, or leaves a message that can be read to its end. Sanitizers watch.
TEST(DBusMessage, BrokenBytesAreNoFault) {
  Output out;
  ASSERT_TRUE(
      (write_dbus_message<"(sa{sv}(yas)v)">(out, ping(), "text", elements(std::pair("k", 1), std::pair("l", "v")),
                                            std::pair(std::uint8_t{1}, std::vector{"a", "b"}), std::vector{1.5})));
  const std::string good(out.bytes());
  std::mt19937 random(1);
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int i = 0; i < 20; ++i) {
      const std::unique_ptr<char[]> memory(new char[good.size()]);
      std::copy(good.begin(), good.end(), memory.get());
      memory[at] = static_cast<char>(i < 10 ? i : static_cast<int>(random()));
      const auto message = DBusMessage::parse({memory.get(), good.size()});
      if (!message.has_value()) continue;
      std::size_t read = 0;
      const auto visit = [&read](const auto& self, const DBusView& view) -> void {
        read += view.text().size() + view.child_count();
        for (const DBusView& child : view) self(self, child);
      };
      visit(visit, message->body());
      EXPECT_GT(read, 0u);
    }
  }
}

// A signal with one field more, of a text or a number.
std::string signal_with(std::uint8_t code, char type, std::string_view text, std::uint32_t number = 0) {
  std::string fields;
  const auto add_number = [&](std::uint32_t value) { fields.append(reinterpret_cast<const char*>(&value), 4); };
  const auto add = [&](std::uint8_t field, char of, std::string_view value) {
    fields.resize((fields.size() + 7) / 8 * 8);
    fields += {static_cast<char>(field), 1, of, 0};
    if (of == 'u') return add_number(number);
    add_number(static_cast<std::uint32_t>(value.size()));
    fields.append(value).push_back('\0');
  };
  add(1, 'o', "/a");
  add(2, 's', "a.b");
  add(3, 's', "c");
  add(code, type, text);
  std::string bytes(std::endian::native == std::endian::little ? "l\4\0\1\0\0\0\0"_b : "B\4\0\1\0\0\0\0"_b);
  for (const std::uint32_t word : {std::uint32_t{1}, static_cast<std::uint32_t>(fields.size())}) {
    bytes.append(reinterpret_cast<const char*>(&word), 4);
  }
  bytes += fields;
  bytes.resize((bytes.size() + 7) / 8 * 8);
  return bytes;
}

// libdbus 1.14's verdicts, of dbus_message_demarshal().
TEST(DBusMessage, IsTakenAndRefusedAsByLibdbus) {
  constexpr std::uint8_t kReplySerial = 5;
  constexpr std::uint8_t kSender = 7;
  constexpr std::uint8_t kContainerInstance = 10;
  const auto is_taken = [](const std::string& bytes) { return DBusMessage::parse(bytes).has_value(); };
  for (const char* name : {":1.5", ":", ":1", ":a", ":-", ":.1", ":.a", ":a1", "a.b"}) {
    EXPECT_TRUE(is_taken(signal_with(kSender, 's', name))) << name;
  }
  for (const char* name : {"", "a", ":..", ":a.", ":a..b", ":.", ":a:", "a.1"}) {
    EXPECT_FALSE(is_taken(signal_with(kSender, 's', name))) << name;
  }
  EXPECT_TRUE(is_taken(signal_with(kContainerInstance, 'o', "/a")));
  EXPECT_FALSE(is_taken(signal_with(kContainerInstance, 's', "/a")));
  EXPECT_FALSE(is_taken(signal_with(kContainerInstance, 'u', "", 1)));
  EXPECT_TRUE(is_taken(signal_with(kContainerInstance + 1, 'u', "", 1)));
  EXPECT_TRUE(is_taken(signal_with(kReplySerial, 'u', "", 1)));
  EXPECT_FALSE(is_taken(signal_with(kReplySerial, 'u', "", 0)));
}

}  // namespace
}  // namespace tare::variant
