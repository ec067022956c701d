// Whole D-Bus messages: their headers, checked by D-Bus's rules.
#include "tare/variant/dbus_message.h"

#include <cstring>

#include "tare/variant/text_rules.h"

namespace tare::inline TARE_ABI::variant {

using format_details::aligned;

namespace {

constexpr std::size_t kBodySizeAt = 4;
constexpr std::size_t kSerialAt = 8;
constexpr std::size_t kFieldsAt = 12;
constexpr std::size_t kLongestName = 255;

enum Field : std::uint8_t {
  Path = 1,
  Interface = 2,
  Member = 3,
  ErrorName = 4,
  ReplySerial = 5,
  Destination = 6,
  Sender = 7,
  SignatureOfBody = 8,
  UnixFds = 9,
  ContainerInstance = 10  // of no use here
};

enum class Dashes : std::uint8_t { No, Yes };
enum class LeadingDigits : std::uint8_t { No, Yes };

// One name of A-Z a-z 0-9 _ (and -) at text[at]; npos if there's none.
std::size_t skip_name(std::string_view text, std::size_t at, Dashes dashes, LeadingDigits digits) {
  const std::size_t begin = at;
  for (; at < text.size() && text[at] != '.'; ++at) {
    const char c = text[at];
    const bool is_digit = c >= '0' && c <= '9';
    if (is_digit
            ? at == begin && digits == LeadingDigits::No
            : !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c == '-' && dashes == Dashes::Yes))) {
      return std::string_view::npos;
    }
  }
  return at == begin ? std::string_view::npos : at;
}

// Two or more names with dots between.
bool is_dotted(std::string_view text, Dashes dashes, LeadingDigits digits) {
  std::size_t names = 0;
  for (std::size_t at = 0;; ++at) {
    at = skip_name(text, at, dashes, digits);
    if (at == std::string_view::npos) return false;
    ++names;
    if (at == text.size()) return names > 1;
  }
}

bool is_absent_or(std::string_view text, bool (*rule)(std::string_view) noexcept) { return text.empty() || rule(text); }

// Buses accept more than the names of the specification, as libdbus does: unique names of one part, and of none.
bool is_taken_bus_name(std::string_view name) noexcept {
  if (name.empty() || name[0] != ':' || name.size() > kLongestName) return is_dbus_bus_name(name);
  for (std::size_t at = 1; at < name.size();) {
    if (name[at] == '.') ++at;
    at = skip_name(name, at, Dashes::Yes, LeadingDigits::Yes);
    if (at == std::string_view::npos) return false;
  }
  return true;
}

// True if all texts are valid and the fields required by the type are present.
bool is_valid(const DBusHeader& header, bool (*is_bus_name)(std::string_view) noexcept) {
  if (header.serial == 0) return false;
  if (!is_absent_or(header.path, is_object_path) || !is_absent_or(header.interface, is_dbus_interface) ||
      !is_absent_or(header.member, is_dbus_member) || !is_absent_or(header.error_name, is_dbus_interface) ||
      !is_absent_or(header.destination, is_bus_name) || !is_absent_or(header.sender, is_bus_name)) {
    return false;
  }
  switch (header.type) {
    case DBusMessageType::MethodCall:
      return !header.path.empty() && !header.member.empty();
    case DBusMessageType::Signal:
      return !header.path.empty() && !header.member.empty() && !header.interface.empty();
    case DBusMessageType::Error:
      return header.reply_serial != 0 && !header.error_name.empty();
    case DBusMessageType::MethodReturn:
      return header.reply_serial != 0;
  }
  return static_cast<std::uint8_t>(header.type) != 0;  // a reader that doesn't know it ignores it
}

// Writes fields one after the other, into memory that has room for them.
class FieldWriter {
 public:
  FieldWriter(char* data, bool is_swapped) : data_(data), is_swapped_(is_swapped) {}

  void add_text(Field field, char type, std::string_view text) {
    if (text.empty()) return;
    begin(field, type);
    if (type == 'g') {
      data_[at_++] = static_cast<char>(text.size());
    } else {
      add_uint32(static_cast<std::uint32_t>(text.size()));
    }
    std::memcpy(data_ + at_, text.data(), text.size());
    at_ += text.size();
    data_[at_++] = 0;
  }
  void add_number(Field field, std::uint32_t number) {
    if (number == 0) return;
    begin(field, 'u');
    add_uint32(number);
  }
  void add_uint32(std::uint32_t number) {
    format_details::store(data_ + at_, number, is_swapped_);
    at_ += 4;
  }
  // A field of another message, as it is.
  void add_bytes(std::string_view field) {
    pad();
    std::memcpy(data_ + at_, field.data(), field.size());
    at_ += field.size();
  }
  void pad() {
    while (at_ % 8 != 0) data_[at_++] = 0;
  }
  std::size_t at() const { return at_; }

 private:
  void begin(Field field, char type) {
    pad();
    const char start[4] = {static_cast<char>(field), 1, type, 0};  // an entry's code, and its variant's signature
    std::memcpy(data_ + at_, start, 4);
    at_ += 4;
  }

  char* data_;
  bool is_swapped_;
  std::size_t at_ = kFieldsAt + 4;
};

// Called for each field of `fields` that isn't known here, with its bytes.
template <typename Act>
void for_each_unknown(const DBusView& fields, Act act) {
  if (fields.code() != 'a') return;  // there's no other message
  for (const DBusView& field : fields) {
    if (field.child(0).as_byte() > UnixFds) act(field.bytes());
  }
}

}  // namespace

bool is_dbus_interface(std::string_view name) noexcept {
  return name.size() <= kLongestName && is_dotted(name, Dashes::No, LeadingDigits::No);
}
bool is_dbus_member(std::string_view name) noexcept {
  return name.size() <= kLongestName && skip_name(name, 0, Dashes::No, LeadingDigits::No) == name.size();
}
bool is_dbus_bus_name(std::string_view name) noexcept {
  if (name.size() > kLongestName) return false;
  if (!name.empty() && name[0] == ':') return is_dotted(name.substr(1), Dashes::Yes, LeadingDigits::Yes);
  return is_dotted(name, Dashes::Yes, LeadingDigits::No);
}

namespace {

Written write_header(Output& out, const DBusHeader& header, std::string_view signature, std::size_t body_size,
                     std::endian order, const DBusView& other_fields) noexcept {
  if (!is_valid(header, is_dbus_bus_name)) return WriteError::BadHeader;
  if (!is_dbus_signature(signature)) return WriteError::NotSignature;
  // with each field's 15 bytes of code, signature, length, zero and padding at most
  std::size_t most = kFieldsAt + 4 + 9 * 16 + header.path.size() + header.interface.size() + header.member.size() +
                     header.error_name.size() + header.destination.size() + header.sender.size() + signature.size();
  for_each_unknown(other_fields, [&most](std::string_view field) { most += field.size() + 8; });
  if (most + body_size > kLargestDBusMessage) return WriteError::TooLarge;
  char fields_of_small_size[1024];
  out.clear();
  const bool fits_exactly_only = out.capacity() < most + body_size;
  // memory of the caller's may be just large enough: then the bound is too much, and the header is made elsewhere first
  if (fits_exactly_only && (most > sizeof fields_of_small_size || !out.is_callers_memory())) {
    if (!out.reserve(most + body_size)) return out.why_not();
  }
  char* data = out.capacity() < most + body_size ? fields_of_small_size : out.data();
  const bool is_swapped = order != std::endian::native;
  data[0] = order == std::endian::little ? 'l' : 'B';
  data[1] = static_cast<char>(header.type);
  data[2] = static_cast<char>(header.flags);
  data[3] = 1;
  format_details::store(data + kBodySizeAt, static_cast<std::uint32_t>(body_size), is_swapped);
  format_details::store(data + kSerialAt, header.serial, is_swapped);
  FieldWriter fields(data, is_swapped);
  fields.add_text(Path, 'o', header.path);
  fields.add_text(Interface, 's', header.interface);
  fields.add_text(Member, 's', header.member);
  fields.add_text(ErrorName, 's', header.error_name);
  fields.add_number(ReplySerial, header.reply_serial);
  fields.add_text(Destination, 's', header.destination);
  fields.add_text(Sender, 's', header.sender);
  fields.add_text(SignatureOfBody, 'g', signature);
  fields.add_number(UnixFds, header.unix_fds);
  for_each_unknown(other_fields, [&fields](std::string_view field) { fields.add_bytes(field); });
  const std::size_t fields_size = fields.at() - kFieldsAt - 4;
  if (fields_size > kLargestDBusArray) return WriteError::TooLarge;
  format_details::store(data + kFieldsAt, static_cast<std::uint32_t>(fields_size), is_swapped);
  fields.pad();
  if (data != out.data()) {
    if (out.capacity() < fields.at() + body_size) return out.why_not();
    std::memcpy(out.data(), data, fields.at());
  }
  out.set_size(fields.at());
  return {out.data(), out.size()};
}

}  // namespace

Written write_dbus_header(Output& out, const DBusHeader& header, std::string_view signature, std::size_t body_size,
                          std::endian order) noexcept {
  return write_header(out, header, signature, body_size, order, {});
}

Written finish_dbus_message(Output& out, std::size_t header_size, std::endian order) noexcept {
  if (out.size() > kLargestDBusMessage || header_size > out.size()) return WriteError::TooLarge;
  format_details::store(out.data() + kBodySizeAt, static_cast<std::uint32_t>(out.size() - header_size),
                        order != std::endian::native);
  return {out.data(), out.size()};
}

// ---- reading

const char* describe(DBusError error) noexcept {
  switch (error) {
    case DBusError::None:
      return "no error";
    case DBusError::TooShort:
      return "the message isn't complete";
    case DBusError::TooLarge:
      return "the message is larger than D-Bus allows";
    case DBusError::BadStart:
      return "the bytes don't begin like a D-Bus message";
    case DBusError::BadHeader:
      return "a header field is invalid or missing";
    case DBusError::BadBody:
      return "the body contradicts the signature";
  }
  return "unknown error";
}

namespace {

bool is_start(std::string_view bytes) {
  return bytes.size() >= DBusMessage::kLeastBytes && (bytes[0] == 'l' || bytes[0] == 'B') && bytes[1] != 0 &&
         bytes[3] == 1;
}
bool is_other_order(char mark) { return (mark == 'l') == (std::endian::native == std::endian::big); }

}  // namespace

std::size_t DBusMessage::size_of(std::string_view beginning) noexcept {
  if (!is_start(beginning)) return 0;
  const bool is_swapped = is_other_order(beginning[0]);
  const std::size_t body = format_details::load<std::uint32_t>(beginning.data() + kBodySizeAt, is_swapped);
  const std::size_t fields = format_details::load<std::uint32_t>(beginning.data() + kFieldsAt, is_swapped);
  const std::size_t size = aligned(kFieldsAt + 4 + fields, 8) + body;
  return fields <= kLargestDBusArray && size <= kLargestDBusMessage ? size : 0;
}

bool DBusMessage::read_field(std::uint8_t code, const DBusView& value, std::string_view& signature) noexcept {
  const auto take = [&value](std::string_view& text, char type) {
    if (value.code() != type || !text.empty()) return false;
    text = value.text();
    return !text.empty();
  };
  const auto take_number = [&value](std::uint32_t& number) {
    if (value.code() != 'u' || number != 0) return false;
    number = value.as_uint32();
    return true;
  };
  switch (code) {
    case 0:
      return false;
    case Path:
      return take(header_.path, 'o');
    case Interface:
      return take(header_.interface, 's');
    case Member:
      return take(header_.member, 's');
    case ErrorName:
      return take(header_.error_name, 's');
    case ReplySerial:
      return take_number(header_.reply_serial) && header_.reply_serial != 0;
    case Destination:
      return take(header_.destination, 's');
    case Sender:
      return take(header_.sender, 's');
    case SignatureOfBody:
      if (value.code() != 'g' || !signature.empty()) return false;
      signature = value.text();
      return true;
    case UnixFds:
      return take_number(header_.unix_fds);
    case ContainerInstance:
      return value.code() == 'o';
    default:
      return true;  // of a later version: to be ignored
  }
}

DBusError DBusMessage::read(std::string_view bytes) noexcept {
  if (bytes.size() < kLeastBytes) return DBusError::TooShort;
  if (!is_start(bytes)) return DBusError::BadStart;
  const std::size_t size = size_of(bytes);
  if (size == 0) return DBusError::TooLarge;
  if (bytes.size() < size) return DBusError::TooShort;
  if (bytes.size() > size) return DBusError::TooLarge;
  const bool is_swapped = is_other_order(bytes[0]);
  order_ = bytes[0] == 'l' ? std::endian::little : std::endian::big;
  header_.type = static_cast<DBusMessageType>(bytes[1]);
  header_.flags = static_cast<std::uint8_t>(bytes[2]);
  header_.serial = format_details::load<std::uint32_t>(bytes.data() + kSerialAt, is_swapped);
  const std::size_t fields_end =
      kFieldsAt + 4 + format_details::load<std::uint32_t>(bytes.data() + kFieldsAt, is_swapped);
  body_at_ = aligned(fields_end, 8);
  for (std::size_t at = fields_end; at < body_at_; ++at) {
    if (bytes[at] != 0) return DBusError::BadHeader;
  }
  const std::string_view body =
      bytes.substr(body_at_, format_details::load<std::uint32_t>(bytes.data() + kBodySizeAt, is_swapped));
  // alignment counts from the message's beginning: the fields are read as the end of the whole header
  const auto fields = DBusView::parse_body("yyyyuua(yv)", bytes.substr(0, fields_end), order_);
  if (!fields.has_value()) return DBusError::BadHeader;
  fields_ = fields->child(6);
  std::string_view signature;
  for (const DBusView& field : fields_) {
    if (!read_field(field.child(0).as_byte(), field.child(1).inside(), signature)) return DBusError::BadHeader;
  }
  if (!is_valid(header_, is_taken_bus_name)) return DBusError::BadHeader;
  const auto read_body = DBusView::parse_body(signature, body, order_);
  if (!read_body.has_value()) return DBusError::BadBody;
  body_ = *read_body;
  bytes_ = bytes;
  return DBusError::None;
}

std::optional<DBusMessage> DBusMessage::parse(std::string_view bytes, DBusError* problem) noexcept {
  std::optional<DBusMessage> message = DBusMessage();
  const DBusError found = message->read(bytes);
  if (problem != nullptr) *problem = found;
  if (found != DBusError::None) message.reset();
  return message;
}

Written DBusMessage::write_header(Output& out, const DBusHeader& header) const noexcept {
  return variant::write_header(out, header, signature(), body_bytes().size(), order_, fields_);
}

void DBusMessage::set_serial(std::span<char> message, std::uint32_t serial) noexcept {
  format_details::store(message.data() + kSerialAt, serial, is_other_order(message[0]));
}

}  // namespace tare::inline TARE_ABI::variant
