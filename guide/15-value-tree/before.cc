// An input method's bus: for each key there's a message for the key and one for the text that is being composed. Values
// are built as a tree, each with its type's description and its bytes in blocks of their own, and serialized at the
// end.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

// What a type string says, worked out by walking it. Values of the type share it; the last of them takes it along.
class TypeInfo {
 public:
  explicit TypeInfo(std::string_view text)
      : text_(new char[text.size()]), size_(text.size()), alignment_(1), is_fixed_(true) {
    std::memcpy(text_.get(), text.data(), text.size());
    for (const char code : text) {
      std::size_t alignment = 1;
      if (code == 'i' || code == 'u') alignment = 4;
      if (code == 'v') alignment = 8;
      alignment_ = std::max(alignment_, alignment);
      if (code == 's' || code == 'a' || code == 'v') is_fixed_ = false;
    }
  }
  std::string_view text() const { return {text_.get(), size_}; }
  std::size_t alignment() const { return alignment_; }
  bool is_fixed() const { return is_fixed_; }

 private:
  std::unique_ptr<char[]> text_;
  std::size_t size_;
  std::size_t alignment_;
  bool is_fixed_;
};

class Value {
 public:
  static std::unique_ptr<Value> of_bytes(std::string_view type, const void* data, std::size_t size) {
    std::unique_ptr<Value> value(new Value(type));
    value->bytes_.reset(new char[size]);
    value->size_ = size;
    std::memcpy(value->bytes_.get(), data, size);
    return value;
  }
  static std::unique_ptr<Value> of(std::uint32_t number) { return of_bytes("u", &number, sizeof number); }
  static std::unique_ptr<Value> of(std::string_view text) {
    return of_bytes("s", std::string(text).c_str(), text.size() + 1);
  }
  template <typename... Children>
  static std::unique_ptr<Value> container(std::string_view type, Children... children) {
    std::unique_ptr<Value> value(new Value(type));
    value->children_.reserve(sizeof...(children));
    (value->children_.push_back(std::move(children)), ...);
    return value;
  }

  // GVariant's encoding, behind what `out` holds.
  void serialize(std::string& out) const {
    pad(out, type_->alignment());
    const std::size_t begin = out.size();
    std::size_t ends[16];
    std::size_t count = 0;
    switch (type_->text()[0]) {
      case 'a':
        for (const auto& child : children_) {
          child->serialize(out);
          ends[count++] = out.size() - begin;
        }
        break;
      case '(':
        for (const auto& child : children_) {
          child->serialize(out);
          if (!child->type_->is_fixed() && &child != &children_.back()) ends[count++] = out.size() - begin;
        }
        std::reverse(ends, ends + count);
        break;
      case 'v':
        children_[0]->serialize(out);
        out.append(1, '\0').append(children_[0]->type_->text());
        break;
      default:
        out.append(bytes_.get(), size_);
    }
    // all messages here are short
    for (std::size_t i = 0; i < count; ++i) out.push_back(static_cast<char>(ends[i]));
  }

 private:
  explicit Value(std::string_view type) : type_(new TypeInfo(type)) {}
  static void pad(std::string& out, std::size_t alignment) {
    while (out.size() % alignment != 0) out.push_back('\0');
  }

  std::unique_ptr<TypeInfo> type_;
  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0;
  std::vector<std::unique_ptr<Value>> children_;
};

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

class InputContext {
 public:
  explicit InputContext(Bus& bus) : bus_(bus) {}

  void key_pressed(char key) {
    const auto symbol = static_cast<std::uint32_t>(key);
    send(Value::container("(uuu)", Value::of(symbol), Value::of(symbol - 0x60 + 8), Value::of(std::uint32_t{0})));
    if (key == ' ') {
      composed_.clear();
      return;
    }
    composed_ += key;
    const auto length = static_cast<std::uint32_t>(composed_.size());
    auto attributes = Value::container("av", attribute(1, 0, length), attribute(2, length - 1, length));
    auto list =
        Value::container("(sa{sv}av)", Value::of("IBusAttrList"), Value::container("a{sv}"), std::move(attributes));
    send(Value::container("(sa{sv}sv)", Value::of("IBusText"), Value::container("a{sv}"), Value::of(composed_),
                          Value::container("v", std::move(list))));
  }

 private:
  static std::unique_ptr<Value> attribute(std::uint32_t kind, std::uint32_t from, std::uint32_t to) {
    return Value::container(
        "v", Value::container("(sa{sv}uuuu)", Value::of("IBusAttribute"), Value::container("a{sv}"), Value::of(kind),
                              Value::of(std::uint32_t{1}), Value::of(from), Value::of(to)));
  }
  void send(const std::unique_ptr<Value>& value) {
    std::string bytes;
    value->serialize(bytes);
    bus_.send(bytes);
  }

  Bus& bus_;
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
