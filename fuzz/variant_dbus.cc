// Any bytes as a D-Bus message: what is taken for one can be read to its end, and its header written again.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tare/variant/dbus_message.h"

namespace {

using tare::variant::DBusView;

void demand(bool holds) {
  if (!holds) std::abort();
}

std::size_t visit(const DBusView& view, std::size_t levels) {
  demand(levels <= tare::variant::kDeepestDBusValue + 2);
  std::size_t seen = view.text().size() + view.element_bytes().size() + view.as_uint32() % 2;
  for (const DBusView& child : view) seen += visit(child, levels + 1);
  view.lookup("key");
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto message = tare::variant::DBusMessage::parse(input);
  if (!message.has_value()) return 0;
  demand(tare::variant::DBusMessage::size_of(input) == size);
  visit(message->body(), 0);

  tare::variant::DBusHeader header = message->header();
  header.sender = ":1.2";
  tare::variant::Output out;
  const auto written = message->write_header(out, header);
  demand(static_cast<bool>(written));
  const std::string joined = std::string(written.bytes()) + std::string(message->body_bytes());
  const auto again = tare::variant::DBusMessage::parse(joined);
  demand(again.has_value() && again->header().sender == ":1.2" && again->signature() == message->signature());
  demand(again->header().serial == message->header().serial && again->header().path == message->header().path);
  return 0;
}
