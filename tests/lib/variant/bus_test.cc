// A real bus: messages of ours go to dbus-daemon over its socket and are answered. To be run by dbus-run-session.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tare/variant/convert.h"
#include "tare/variant/dbus_message.h"

namespace tare::variant {
namespace {

// A connection to the session's bus, its authentication done.
class Bus {
 public:
  Bus() {
    const char* address = std::getenv("DBUS_SESSION_BUS_ADDRESS");
    std::string path = address == nullptr ? "" : address;
    const std::string prefix = "unix:path=";
    if (path.rfind(prefix, 0) != 0) return;
    path = path.substr(prefix.size(), path.find_first_of(",;") - prefix.size());
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    if (path.size() >= sizeof name.sun_path) return;
    std::memcpy(name.sun_path, path.data(), path.size());
    socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(socket_, reinterpret_cast<sockaddr*>(&name), sizeof name) != 0) return;
    std::string user;
    for (const char digit : std::to_string(getuid())) user += "3" + std::string(1, digit);  // as ASCII in hexadecimal
    send(std::string(1, '\0') + "AUTH EXTERNAL " + user + "\r\n");
    while (answer_.find("\r\n") == std::string::npos && receive()) {
    }
    is_open_ = answer_.rfind("OK ", 0) == 0;
    answer_.clear();
    send("BEGIN\r\n");
  }
  Bus(const Bus&) = delete;
  Bus& operator=(const Bus&) = delete;
  ~Bus() { close(socket_); }

  bool is_open() const { return is_open_; }
  void send(std::string_view bytes) {
    EXPECT_EQ(write(socket_, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }

  // The reply to the message with this serial; others that come before are checked and left out.
  std::string reply_to(std::uint32_t serial) {
    for (;;) {
      while (answer_.size() < DBusMessage::kLeastBytes || answer_.size() < DBusMessage::size_of(answer_)) {
        if (!receive()) return {};
      }
      const std::size_t size = DBusMessage::size_of(answer_);
      std::string message = answer_.substr(0, size);
      answer_.erase(0, size);
      const auto parsed = DBusMessage::parse(message);
      EXPECT_TRUE(parsed.has_value());
      if (!parsed.has_value() || parsed->header().reply_serial == serial) return message;
    }
  }

 private:
  bool receive() {
    char bytes[4096];
    const ssize_t count = read(socket_, bytes, sizeof bytes);
    if (count > 0) answer_.append(bytes, static_cast<std::size_t>(count));
    return count > 0;
  }

  int socket_ = -1;
  bool is_open_ = false;
  std::string answer_;
};

DBusHeader call(const char* member, std::uint32_t serial) {
  DBusHeader header;
  header.serial = serial;
  header.destination = "org.freedesktop.DBus";
  header.path = "/org/freedesktop/DBus";
  header.interface = "org.freedesktop.DBus";
  header.member = member;
  return header;
}

template <std::endian kOrder>
void talk() {
  Bus bus;
  ASSERT_TRUE(bus.is_open()) << "no session bus: run this by dbus-run-session";
  Output out;
  bus.send(write_dbus_message<"()", kOrder>(out, call("Hello", 1)).bytes());
  const std::string hello = bus.reply_to(1);
  const auto greeting = DBusMessage::parse(hello);
  ASSERT_TRUE(greeting.has_value());
  const std::string own_name(greeting->body().child(0).text());
  EXPECT_TRUE(is_dbus_bus_name(own_name));

  bus.send(write_dbus_message<"(su)", kOrder>(out, call("RequestName", 2), "org.tare.Test", 4u).bytes());
  const std::string requested = bus.reply_to(2);
  EXPECT_EQ(DBusMessage::parse(requested)->body().child(0).as_uint32(), 1u);  // is its owner now

  bus.send(write_dbus_message<"(s)", kOrder>(out, call("GetNameOwner", 3), "org.tare.Test").bytes());
  const std::string owner = bus.reply_to(3);
  EXPECT_EQ(DBusMessage::parse(owner)->body().child(0).text(), own_name);

  bus.send(write_dbus_message<"()", kOrder>(out, call("ListNames", 4)).bytes());
  const std::string listed = bus.reply_to(4);
  const auto names = DBusMessage::parse(listed)->body().child(0).to<std::vector<std::string>>();
  ASSERT_TRUE(names.has_value());
  EXPECT_EQ(std::count(names->begin(), names->end(), "org.tare.Test"), 1);

  // a dictionary goes there and back: to itself, by the bus
  DBusHeader own = call("Keep", 5);
  own.destination = "org.tare.Test";
  own.path = "/";
  own.interface = "org.tare.Test";
  bus.send(write_dbus_message<"(a{sv}ax)", kOrder>(out, own, elements(std::pair("key", 1), std::pair("text", "Grüße")),
                                                   std::vector<std::int64_t>{1, -1})
               .bytes());
  const std::string kept = bus.reply_to(0);
  const auto message = DBusMessage::parse(kept);
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(message->header().sender, own_name);
  EXPECT_EQ(message->body().child(0).lookup("text")->text(), "Grüße");
  EXPECT_EQ(message->body().child(1).to<std::vector<std::int64_t>>(), (std::vector<std::int64_t>{1, -1}));

  bus.send(write_dbus_message<"(s)", kOrder>(out, call("GetNameOwner", 6), "org.tare.Nobody").bytes());
  const std::string refused = bus.reply_to(6);
  EXPECT_EQ(DBusMessage::parse(refused)->header().error_name, "org.freedesktop.DBus.Error.NameHasNoOwner");
}

TEST(SessionBus, AnswersMessagesOfLittleEndian) { talk<std::endian::little>(); }
TEST(SessionBus, AnswersMessagesOfBigEndian) { talk<std::endian::big>(); }

}  // namespace
}  // namespace tare::variant
