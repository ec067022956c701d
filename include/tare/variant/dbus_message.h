// tare/variant/dbus_message.h: whole D-Bus messages: header and body written into one buffer, and read in place.
//
//   tare::variant::DBusHeader call;
//   call.serial = 7;
//   call.destination = "org.freedesktop.DBus";
//   call.path = "/org/freedesktop/DBus";
//   call.interface = "org.freedesktop.DBus";
//   call.member = "GetNameOwner";
//   Written written = write_dbus_message<"(s)">(out, call, "org.example.Name");    // ready to be sent
//
//   auto message = DBusMessage::parse(bytes);                                      // or why not
//   if (message && message->header().member == "Ping") answer(message->header().serial);
//
//   DBusHeader changed = message->header();            // pass it on with another sender: the body isn't copied
//   changed.sender = ":1.42";
//   Written head = message->write_header(out, changed);
//   const std::string_view parts[] = {head.bytes(), message->body_bytes()};   // for writev
//
// A header's texts are views: of the message's bytes once parsed. They are checked by D-Bus's rules when written and
// when parsed, as are the fields that each type of message must have. Nothing throws or allocates, but that `out` may
// grow. Any thread may read.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "tare/internal/export.h"
#include "tare/variant/dbus_view.h"
#include "tare/variant/output.h"
#include "tare/variant/writer.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::variant {

enum class DBusMessageType : std::uint8_t { MethodCall = 1, MethodReturn = 2, Error = 3, Signal = 4 };

struct DBusHeader {
  // Bits of `flags`.
  static constexpr std::uint8_t kNoReplyExpected = 1;
  static constexpr std::uint8_t kNoAutoStart = 2;
  static constexpr std::uint8_t kAllowInteractiveAuthorization = 4;

  DBusMessageType type = DBusMessageType::MethodCall;
  std::uint8_t flags = 0;
  std::uint32_t serial = 0;        // not 0 in a message
  std::uint32_t reply_serial = 0;  // 0: not there
  std::uint32_t unix_fds = 0;      // descriptors sent beside the message
  // Empty: not there.
  std::string_view path;
  std::string_view interface;
  std::string_view member;
  std::string_view error_name;
  std::string_view destination;
  std::string_view sender;
};

// True if D-Bus accepts these as a name: of an interface or error, of a method or signal, of a connection.
TARE_API bool is_dbus_interface(std::string_view name) noexcept;
TARE_API bool is_dbus_member(std::string_view name) noexcept;
TARE_API bool is_dbus_bus_name(std::string_view name) noexcept;

// A header with its padding, for a body of `body_size` bytes that follows; `out` is cleared first, and gets room for
// the body too. WriteError::BadHeader if a text or a field is wrong or missing for the type.
TARE_API Written write_dbus_header(Output& out, const DBusHeader& header, std::string_view signature,
                                   std::size_t body_size, std::endian order = std::endian::native) noexcept;
// For a header written before the body's size was known: inserts the size of the bytes behind `header_size`.
TARE_API Written finish_dbus_message(Output& out, std::size_t header_size,
                                     std::endian order = std::endian::native) noexcept;

// A whole message. The arguments are the members of the tuple kBody: "(sa{sv})" for the signature "sa{sv}", "()" for
// none.
template <TypeText kBody, std::endian kOrder = std::endian::native, typename... Values>
Written write_dbus_message(Output& out, const DBusHeader& header, const Values&... arguments) {
  static_assert(kBody[0] == '(' && is_type(kBody.view()), "a body is a tuple of the arguments");
  static constexpr auto kText = kBody;
  constexpr std::string_view kSignature = kText.view().substr(1, kText.size() - 2);
  if constexpr (kSignature.empty()) {
    static_assert(sizeof...(Values) == 0);
    return write_dbus_header(out, header, {}, 0, kOrder);
  } else {
    using Body = Writer<kBody, DBusFormat<kOrder>>;
    const std::size_t body_size = Body::size(arguments...);
    const Written head = write_dbus_header(out, header, kSignature, body_size, kOrder);
    if (!head) return head;
    const Written body = Body::append(out, arguments...);
    if (!body) return body;
    if (out.size() > kLargestDBusMessage) return WriteError::TooLarge;
    return {out.data(), out.size()};
  }
}

// Why bytes aren't a message.
enum class DBusError : std::uint8_t {
  None,
  TooShort,   // more bytes are needed: see DBusMessage::size_of
  TooLarge,   // than D-Bus allows
  BadStart,   // neither l nor B at the beginning, another version of the protocol, or a type of 0
  BadHeader,  // a field of the wrong type, twice, invalid, or missing
  BadBody     // it contradicts the signature
};
// One sentence in English, static storage.
TARE_API const char* describe(DBusError error) noexcept;

class TARE_API DBusMessage {
 public:
  static constexpr std::size_t kLeastBytes = 16;

  // How long the message is that begins with these bytes, of which there must be kLeastBytes; 0 if it can't be one.
  static std::size_t size_of(std::string_view beginning) noexcept;

  // Checks header and body, O(n). Nothing if they are wrong, and why in `problem`.
  static std::optional<DBusMessage> parse(std::string_view bytes, DBusError* error = nullptr) noexcept;

  const DBusHeader& header() const noexcept { return header_; }
  std::string_view signature() const noexcept { return body_.type_text(); }
  std::endian byte_order() const noexcept { return order_; }
  // The arguments, as children.
  const DBusView& body() const noexcept { return body_; }
  std::string_view bytes() const noexcept { return bytes_; }
  std::string_view body_bytes() const noexcept { return bytes_.substr(body_at_); }

  // A header with `header`'s fields for this message's body, which fits behind it as it is; fields that aren't known
  // here are kept. `header` may have texts of this message.
  Written write_header(Output& out, const DBusHeader& header) const noexcept;

  // Puts another serial into the message's bytes, of which there must be kLeastBytes.
  static void set_serial(std::span<char> message, std::uint32_t serial) noexcept;

 private:
  DBusMessage() = default;
  DBusError read(std::string_view bytes) noexcept;
  bool read_field(std::uint8_t code, const DBusView& value, std::string_view& signature) noexcept;

  DBusHeader header_;
  DBusView fields_;
  DBusView body_;
  std::string_view bytes_;
  std::size_t body_at_ = 0;
  std::endian order_ = std::endian::native;
};

}  // namespace tare::inline TARE_ABI::variant
