// Messages that went over a real bus, as dbus-monitor wrote them to the file TARE_CAPTURED: read as GLib reads them,
// and written again to the same bytes. To be run by captured.sh.
#include <gio/gio.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "lib/variant/glib_peer.h"
#include "tare/variant/dbus_message.h"
#include "tare/variant/text.h"

namespace tare::variant {
namespace {

std::string captured() {
  const char* path = std::getenv("TARE_CAPTURED");
  std::ifstream file(path == nullptr ? "" : path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string text_of(const char* text) { return text == nullptr ? "" : text; }

void expect_same_header(const DBusHeader& ours, GDBusMessage* theirs) {
  EXPECT_EQ(static_cast<int>(ours.type), static_cast<int>(g_dbus_message_get_message_type(theirs)));
  EXPECT_EQ(ours.serial, g_dbus_message_get_serial(theirs));
  EXPECT_EQ(ours.reply_serial, g_dbus_message_get_reply_serial(theirs));
  EXPECT_EQ(ours.flags, static_cast<unsigned>(g_dbus_message_get_flags(theirs)));
  EXPECT_EQ(ours.path, text_of(g_dbus_message_get_path(theirs)));
  EXPECT_EQ(ours.interface, text_of(g_dbus_message_get_interface(theirs)));
  EXPECT_EQ(ours.member, text_of(g_dbus_message_get_member(theirs)));
  EXPECT_EQ(ours.error_name, text_of(g_dbus_message_get_error_name(theirs)));
  EXPECT_EQ(ours.destination, text_of(g_dbus_message_get_destination(theirs)));
  EXPECT_EQ(ours.sender, text_of(g_dbus_message_get_sender(theirs)));
}

void expect_same_body(const DBusMessage& ours, GDBusMessage* theirs) {
  EXPECT_EQ(ours.signature(), text_of(g_dbus_message_get_signature(theirs)));
  GVariant* body = g_dbus_message_get_body(theirs);
  ASSERT_EQ(body == nullptr, ours.signature().empty());
  if (body == nullptr) return;
  Output out;
  char* printed = g_variant_print(body, TRUE);
  EXPECT_EQ(print(out, ours.body()).bytes(), printed);
  g_free(printed);
  const std::string type = "(" + std::string(ours.signature()) + ")";
  DBusBuilder builder(out, Type::trusted(type), ours.byte_order());
  EXPECT_TRUE(testing::write_with(builder, body));
  EXPECT_EQ(builder.end().bytes(), ours.body_bytes());
}

// Written again with another serial, as who passes it on does: the rest is what it was.
void expect_passed_on(const DBusMessage& message) {
  DBusHeader header = message.header();
  header.serial += 1000;
  Output out;
  const Written head = message.write_header(out, header);
  ASSERT_TRUE(head) << describe(head.error());
  const std::string bytes = std::string(head.bytes()) + std::string(message.body_bytes());
  const auto again = DBusMessage::parse(bytes);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->header().serial, header.serial);
  EXPECT_EQ(again->header().sender, header.sender);
  EXPECT_EQ(again->header().member, header.member);
  EXPECT_EQ(again->signature(), message.signature());
  EXPECT_EQ(again->body_bytes(), message.body_bytes());
}

TEST(CapturedMessages, ReadBackEqual) {
  const std::string file = captured();
  ASSERT_FALSE(file.empty()) << "TARE_CAPTURED names no file with messages: run this by captured.sh";
  std::set<DBusMessageType> types;
  std::size_t count = 0;
  for (std::string_view left = file; !left.empty(); ++count) {
    ASSERT_GE(left.size(), DBusMessage::kLeastBytes);
    const std::size_t size = DBusMessage::size_of(left);
    ASSERT_TRUE(size != 0 && size <= left.size()) << "message " << count;
    DBusError problem = DBusError::None;
    const auto message = DBusMessage::parse(left.substr(0, size), &problem);
    ASSERT_TRUE(message.has_value()) << "message " << count << ": " << describe(problem);
    std::string copy(left.substr(0, size));
    GDBusMessage* theirs = g_dbus_message_new_from_blob(reinterpret_cast<guchar*>(copy.data()), copy.size(),
                                                        G_DBUS_CAPABILITY_FLAGS_UNIX_FD_PASSING, nullptr);
    ASSERT_NE(theirs, nullptr);
    expect_same_header(message->header(), theirs);
    expect_same_body(*message, theirs);
    expect_passed_on(*message);
    g_object_unref(theirs);
    types.insert(message->header().type);
    left.remove_prefix(size);
  }
  EXPECT_GE(count, 20u);
  EXPECT_EQ(types.size(), 4u) << "the conversation has calls, replies, errors and signals";
}

}  // namespace
}  // namespace tare::variant
