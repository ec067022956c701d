// An input method's bus: for each key there's a message for the key and one for the text that is being composed. Values
// are written straight into one buffer, which is kept for the next message.
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <tuple>

#include "tare/variant/writer.h"

namespace {

using tare::variant::as;
using tare::variant::elements;
using tare::variant::Output;
using tare::variant::Writer;

// A bus that everything is sent to.
class Bus {
 public:
  void send(std::string_view bytes) {
    ++messages_;
    bytes_ += bytes.size();
    for (const char byte : bytes) sum_ = (sum_ ^ static_cast<unsigned char>(byte)) * 1099511628211u;
  }
  void report() const {
    std::printf("%zu messages, %zu bytes, sum %llx\n", messages_, bytes_, static_cast<unsigned long long>(sum_));
  }

 private:
  std::size_t messages_ = 0;
  std::size_t bytes_ = 0;
  std::uint64_t sum_ = 14695981039346656037u;
};

auto attribute(std::uint32_t kind, std::uint32_t from, std::uint32_t to) {
  return as<"(sa{sv}uuuu)">(std::tuple("IBusAttribute", elements(), kind, 1u, from, to));
}

class InputContext {
 public:
  explicit InputContext(Bus& bus) : bus_(bus) {}

  void key_pressed(char key) {
    const auto symbol = static_cast<std::uint32_t>(key);
    bus_.send(Writer<"(uuu)">::write(out_, symbol, symbol - 0x60 + 8, 0u).bytes());
    if (key == ' ') {
      composed_.clear();
      return;
    }
    composed_ += key;
    const auto length = static_cast<std::uint32_t>(composed_.size());
    const auto attributes = elements(attribute(1, 0, length), attribute(2, length - 1, length));
    bus_.send(Writer<"(sa{sv}sv)">::write(out_, "IBusText", elements(), composed_,
                                          as<"(sa{sv}av)">(std::tuple("IBusAttrList", elements(), attributes)))
                  .bytes());
  }

 private:
  Bus& bus_;
  Output out_;
  std::string composed_;
};

}  // namespace

int main() {
  Bus bus;
  InputContext context(bus);
  const std::string_view typed = "the quick brown fox jumps over the lazy dog ";
  for (int line = 0; line < 400; ++line) {
    for (const char key : typed) context.key_pressed(key);
  }
  bus.report();
}
