// Fuzzes the text format: any text is parsed or refused as GLib does, with the same message; what is parsed is printed
// and parsed again to the same value.
//
// Input: a byte that says which type is wanted, if any, and the text.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "lib/variant/text_peer.h"
#include "tare/variant/text.h"

namespace {

using tare::variant::Output;
using tare::variant::ParsedText;
using tare::variant::Type;

constexpr const char* kTypes[] = {nullptr, nullptr, "i", "d", "s", "mmi", "as", "ay", "v", "(is)", "a{sv}", "ami", "t"};

void require(bool good) {
  if (!good) std::abort();
}

// What it calls a bug of its caller's, texts that aren't UTF-8, isn't to be written to stderr.
[[maybe_unused]] const auto kQuiet =
    g_log_set_default_handler([](const char*, GLogLevelFlags, const char*, void*) {}, nullptr);

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const char* wanted = kTypes[data[0] % std::size(kTypes)];
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::optional<Type> type;
  if (wanted != nullptr) type = Type::trusted(wanted);
  Output out;
  const ParsedText parsed = parse(out, text, type);
  if (parsed) {
    require(tare::variant::View(parsed.type(), parsed.bytes()).is_normal());
    Output printed;
    Output again;
    const auto first = print(printed, parsed.view());
    require(static_cast<bool>(first));
    const ParsedText back = parse(again, first.bytes(), parsed.type());
    // numbers so small that GLib refuses what it prints
    require(back ? back.bytes() == parsed.bytes() : back.error().reason == tare::variant::TextError::NumberTooBig);
  } else {
    require(!parsed.error().line().empty());
    static_cast<void>(parsed.error().context(text));
  }
  const std::string difference = tare::testing::parse_difference(text.substr(0, text.find('\0')), wanted);
  if (!difference.empty()) std::fprintf(stderr, "%s\n", difference.c_str());
  require(difference.empty());
  return 0;
}
