// Values as Python has them: type, text, and plain data for JSON, in which a variant is {"type", "data"}.
#include "bindings/variant.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/python_error.h"
#include "tare/variant/dbus_message.h"
#include "tare/variant/gvdb.h"
#include "tare/variant/text.h"

namespace nb = nanobind;

namespace tare::bindings {
namespace {

using variant::DBusMessage;
using variant::DBusView;
using variant::GvdbItem;
using variant::GvdbTable;
using variant::Output;
using variant::Type;
using variant::View;

nb::str to_str(std::string_view text) { return nb::str(text.data(), text.size()); }
nb::bytes to_bytes(std::string_view bytes) { return nb::bytes(bytes.data(), bytes.size()); }

// Borrows the contents of bytes or of a mapped file for its lifetime: nothing is copied.
class Held {
 public:
  explicit Held(const nb::object& data) {
    if (PyObject_GetBuffer(data.ptr(), &buffer_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { PyBuffer_Release(&buffer_); }

  std::string_view bytes() const {
    return {static_cast<const char*>(buffer_.buf), static_cast<std::size_t>(buffer_.len)};
  }

 private:
  Py_buffer buffer_{};
};

std::endian order_of(bool is_big_endian) { return is_big_endian ? std::endian::big : std::endian::little; }

std::string_view type_of(const View& value) { return value.type().text(); }
std::string_view type_of(const DBusView& value) { return value.type_text(); }

Type type_or_raise(const std::string& text) {
  const auto type = Type::parse(text);
  if (!type) raise({ErrorKind::Usage, "'" + text + "' isn't the type of a value, as a{sv} is"});
  return *type;
}

template <typename AnyView>
std::string text_of(const AnyView& value) {
  Output out;
  const variant::Written written = print(out, value);
  if (!written) raise({ErrorKind::Internal, std::string(describe(written.error()))});
  return std::string(written.bytes());
}

template <typename AnyView>
nb::object plain(const AnyView& value) {
  switch (value.code()) {
    case 'b':
      return nb::bool_(value.as_bool());
    case 'y':
      return nb::int_(value.as_byte());
    case 'n':
      return nb::int_(value.as_int16());
    case 'q':
      return nb::int_(value.as_uint16());
    case 'i':
      return nb::int_(value.as_int32());
    case 'u':
      return nb::int_(value.as_uint32());
    case 'h':
      return nb::int_(static_cast<std::int32_t>(value.as_handle().index));
    case 'x':
      return nb::int_(value.as_int64());
    case 't':
      return nb::int_(value.as_uint64());
    case 'd':
      if (std::isfinite(value.as_double())) return nb::float_(value.as_double());
      return to_str(text_of(value));  // JSON has no such numbers
    case 's':
    case 'o':
    case 'g':
      return to_str(value.text());
    case 'v': {
      const AnyView inside = value.inside();
      nb::dict held;
      held["type"] = to_str(type_of(inside));
      held["data"] = plain(inside);
      return held;
    }
    case 'm': {
      nb::object held = nb::none();
      for (const AnyView& child : value) held = plain(child);
      return held;
    }
    default:
      break;
  }
  // By the code as well: the type's text of a message's body is its signature, which may begin like that.
  const bool is_dictionary = value.code() == 'a' && type_of(value).substr(0, 2) == "a{";
  const bool has_text_keys = is_dictionary && std::string_view("sog").find(type_of(value)[2]) != std::string_view::npos;
  nb::dict dictionary;
  nb::list list;
  for (const AnyView& child : value) {
    if (!is_dictionary) {
      list.append(plain(child));
    } else {
      dictionary[has_text_keys ? to_str(child.key().text()) : to_str(text_of(child.key()))] = plain(child.value());
    }
  }
  return is_dictionary ? nb::object(dictionary) : nb::object(list);
}

template <typename AnyView>
nb::tuple described(const AnyView& value) {
  return nb::make_tuple(to_str(type_of(value)), to_str(text_of(value)), plain(value));
}

nb::tuple variant_value(const nb::object& data, const std::string& type, bool is_big_endian) {
  const Held held(data);
  View view(type_or_raise(type), held.bytes(), order_of(is_big_endian));
  const bool is_normal = view.validate();
  return nb::make_tuple(described(view), is_normal);
}

std::optional<View> entry_of(const View& dictionary, const std::string& key) {
  if (std::string_view("sog").find(type_of(dictionary)[2]) != std::string_view::npos) return dictionary.lookup(key);
  for (const View& entry : dictionary) {
    if (text_of(entry.key()) == key) return entry.value();
  }
  return std::nullopt;
}

// One step into a value: an entry's key, or a member's or element's number. If there is none, `problem` has the reason.
std::optional<View> part_of(View value, const std::string& key, std::string& problem) {
  while (value.code() == 'v' || (value.code() == 'm' && value.child_count() != 0)) {
    value = value.code() == 'v' ? value.inside() : value.child(0);
  }
  const std::string shown_type = "a value of type " + std::string(type_of(value));
  if (type_of(value).substr(0, 2) == "a{") {
    std::optional<View> found = entry_of(value, key);
    if (!found) problem = shown_type + " has no entry " + key;
    return found;
  }
  if (std::string_view("a({").find(value.code()) == std::string_view::npos) {
    problem = shown_type + " has no parts, so no " + key;
    return std::nullopt;
  }
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), number);
  if (error == std::errc{} && end == key.data() + key.size() && number < value.child_count()) {
    return value.child(number);
  }
  const std::size_t count = value.child_count();
  problem = shown_type + (count == 0 ? " is empty" : " has parts 0 to " + std::to_string(count - 1)) + ", so no " + key;
  return std::nullopt;
}

// The part at the end of the keys, and the error if there is none.
nb::tuple variant_find(const nb::object& data, const std::string& type, bool is_big_endian,
                       const std::vector<std::string>& keys) {
  const Held held(data);
  View value(type_or_raise(type), held.bytes(), order_of(is_big_endian));
  std::string problem;
  for (const std::string& key : keys) {
    const std::optional<View> part = part_of(value, key, problem);
    if (!part) return nb::make_tuple(nb::none(), problem);
    value = *part;
  }
  return nb::make_tuple(described(value), problem);
}

nb::tuple variant_parse(const std::string& text, const std::string& type, bool is_big_endian) {
  std::optional<Type> wanted;
  if (!type.empty()) wanted = type_or_raise(type);
  Output out;
  const variant::ParsedText parsed = parse(out, text, wanted, variant::Rest::Refused, order_of(is_big_endian));
  if (!parsed) {
    std::string context = parsed.error().context(text);
    if (!context.empty()) context.pop_back();
    raise({ErrorKind::Usage, context});
  }
  return nb::make_tuple(to_str(parsed.type().text()), to_bytes(parsed.bytes()));
}

nb::bytes variant_normal(const nb::object& data, const std::string& type, bool from_big_endian, bool to_big_endian) {
  const Held held(data);
  const View view(type_or_raise(type), held.bytes(), order_of(from_big_endian));
  Output out;
  const variant::Written written = view.normal_form(out, order_of(to_big_endian));
  if (!written) raise({ErrorKind::Internal, std::string(describe(written.error()))});
  return to_bytes(written.bytes());
}

// Keys are bytes, because they may not be UTF-8.
nb::list items_of(const GvdbTable& table, int levels_left) {
  nb::list items;
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    const GvdbItem item = table[i];
    std::string key;
    nb::object content = nb::none();
    const char* kind = "broken";
    if (item.append_key(key)) {
      if (item.kind() == GvdbItem::Kind::Value) {
        kind = "value";
        content = described(item.value());
      } else if (item.kind() == GvdbItem::Kind::Table && levels_left > 0) {
        kind = "table";
        content = items_of(item.table(), levels_left - 1);
      } else if (item.kind() == GvdbItem::Kind::Folder) {
        kind = "folder";
      }
    }
    items.append(nb::make_tuple(to_bytes(key), kind, content));
  }
  return items;
}

variant::Gvdb gvdb_or_raise(const Held& held) {
  const auto file = variant::Gvdb::parse(held.bytes());
  if (!file) raise({ErrorKind::Usage, "the file is no gvdb database"});
  return *file;
}

constexpr int kGvdbLevels = 4;  // schemas have 2; a damaged file can have a table in itself

nb::list gvdb_items(const nb::object& data) {
  const Held held(data);
  return items_of(gvdb_or_raise(held).root(), kGvdbLevels);
}

// The value of the last key, each before it a table's. None where there's none.
nb::object gvdb_find(const nb::object& data, const std::vector<std::string>& keys) {
  const Held held(data);
  GvdbTable table = gvdb_or_raise(held).root();
  for (const std::string& key : keys) {
    const auto item = table.find(key);
    if (!item) return nb::none();
    if (item->kind() == GvdbItem::Kind::Value && &key == &keys.back()) return described(item->value());
    table = item->table();
  }
  return nb::none();
}

nb::dict message_of(const DBusMessage& message) {
  constexpr const char* kTypes[] = {"invalid", "method_call", "method_return", "error", "signal"};
  const variant::DBusHeader& header = message.header();
  const auto type = static_cast<std::size_t>(header.type);
  nb::dict result;
  result["type"] = type < std::size(kTypes) ? kTypes[type] : "unknown";
  result["endian"] = message.byte_order() == std::endian::little ? "l" : "B";
  result["flags"] = header.flags;
  result["serial"] = header.serial;
  if (header.reply_serial != 0) result["reply_serial"] = header.reply_serial;
  if (header.unix_fds != 0) result["unix_fds"] = header.unix_fds;
  const auto add = [&](const char* name, std::string_view text) {
    if (!text.empty()) result[name] = to_str(text);
  };
  add("sender", header.sender);
  add("destination", header.destination);
  add("path", header.path);
  add("interface", header.interface);
  add("member", header.member);
  add("error_name", header.error_name);
  add("signature", message.signature());
  result["text"] = to_str(text_of(message.body()));
  result["body"] = plain(message.body());
  return result;
}

// Consecutive messages, the number of valid bytes, and the error of the message behind them.
nb::tuple dbus_messages(const nb::object& data) {
  const Held held(data);
  std::string_view left = held.bytes();
  nb::list messages;
  std::string problem;
  while (!left.empty() && problem.empty()) {
    const std::size_t size = left.size() < DBusMessage::kLeastBytes ? 0 : DBusMessage::size_of(left);
    if (size == 0 || size > left.size()) {
      problem = size == 0 ? "there's no message" : "the message isn't complete";
      break;
    }
    variant::DBusError why = variant::DBusError::None;
    if (const auto message = DBusMessage::parse(left.substr(0, size), &why)) {
      messages.append(message_of(*message));
      left.remove_prefix(size);
    } else {
      problem = describe(why);
    }
  }
  return nb::make_tuple(messages, held.bytes().size() - left.size(), problem);
}

}  // namespace

void bind_variant(nb::module_& module) {
  module.def("variant_value", variant_value, nb::arg("data"), nb::arg("type"), nb::arg("is_big_endian"));
  module.def("variant_find", variant_find, nb::arg("data"), nb::arg("type"), nb::arg("is_big_endian"), nb::arg("keys"));
  module.def("variant_parse", variant_parse, nb::arg("text"), nb::arg("type"), nb::arg("is_big_endian"));
  module.def("variant_normal", variant_normal, nb::arg("data"), nb::arg("type"), nb::arg("from_big_endian"),
             nb::arg("to_big_endian"));
  module.def("gvdb_items", gvdb_items, nb::arg("data"));
  module.def("gvdb_find", gvdb_find, nb::arg("data"), nb::arg("keys"));
  module.def("dbus_messages", dbus_messages, nb::arg("data"));
}

}  // namespace tare::bindings
