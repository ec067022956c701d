// Recursive descent over the grammar of Rust's v0 names (RFC 2603 and the later structural constants and pattern
// types), printing as it parses. Depth, output and steps are bounded: a back reference may name a part that names
// others, which doubles at each step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/demangle/punycode.h"
#include "core/demangle/rust_v0_cursor.h"

namespace tare::core {

class RustV0Demangler : private RustV0Cursor {
 public:
  // `body` is the name after "_R".
  explicit RustV0Demangler(std::string_view body) : RustV0Cursor(body) {}

  // Once. Nothing where it isn't a name.
  std::optional<std::string> run();

 private:
  static constexpr unsigned kMaxDepth = 300;
  static constexpr std::size_t kMaxOutputBytes = 64 << 10;
  static constexpr unsigned kMaxSteps = 200'000;

  enum class Context : std::uint8_t { Type, Value };  // generic arguments are <...> in types, ::<...> in values

  // One for each nested production: bounds the recursion and the work.
  class Nesting {
   public:
    explicit Nesting(RustV0Demangler& demangler) : demangler_(demangler) {
      if (++demangler_.depth_ > kMaxDepth || ++demangler_.steps_ > kMaxSteps) demangler_.fail();
    }
    ~Nesting() { --demangler_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    RustV0Demangler& demangler_;
  };

  void print(std::string_view text) {
    if (!printing_ || failed_) return;
    if (out_.size() + text.size() > kMaxOutputBytes) return fail();
    out_ += text;
  }
  void print_number(std::uint64_t number) { print(std::to_string(number)); }

  void print(const Identifier& identifier) {
    if (!printing_ || failed_) return;
    if (!identifier.punycode) return print(identifier.text);
    if (const std::optional<std::string> decoded = decode_punycode(identifier.text)) return print(*decoded);
    fail();
  }

  // Runs `parse` at an earlier place, once. Where nothing is printed there is nothing to learn from it.
  template <typename Parse>
  void back_reference(Parse&& parse) {
    const std::size_t tag_at = at_ - 1;
    const std::uint64_t target = base62();
    if (failed_ || target >= tag_at) return fail();
    if (!printing_) return;
    const std::size_t resume = at_;
    at_ = target;
    parse();
    at_ = resume;
  }

  // Items until "E".
  template <typename Item>
  unsigned list(std::string_view separator, Item&& item) {
    unsigned count = 0;
    while (!failed_ && !eat('E')) {
      if (count++ != 0) print(separator);
      item();
    }
    return count;
  }

  template <typename Inner>
  void with_binder(Inner&& inner) {
    const std::uint64_t count = optional_base62('G');
    if (count > in_.size()) return fail();  // each bound lifetime is used somewhere
    if (count != 0) {
      print("for<");
      for (std::uint64_t i = 0; i < count; ++i) {
        if (i != 0) print(", ");
        ++bound_lifetimes_;
        lifetime(1);
      }
      print("> ");
    }
    inner();
    bound_lifetimes_ -= count;
  }

  // rust_v0_paths.cc
  void path(Context context);
  void nested_path(Context context);
  void generic_argument();
  // De Bruijn index: 1 is the innermost bound lifetime, 0 an erased one.
  void lifetime(std::uint64_t index);

  // rust_v0_types.cc
  void type();
  void function_type();
  void dynamic_type();
  // Associated types join the trait's own arguments: dyn Iterator<Item = u8>.
  void dynamic_trait();
  // True: its "<" is still open.
  bool trait_path();
  void pattern();

  // rust_v0_constants.cc
  // `context` Value: already inside an expression; otherwise all but literals need braces.
  void constant(Context context);
  void structure();
  void integer();
  void escaped(std::uint32_t point, char quote);
  void string_literal();

  std::string out_;
  std::uint64_t bound_lifetimes_ = 0;
  unsigned depth_ = 0;
  unsigned steps_ = 0;
  bool printing_ = true;
};

}  // namespace tare::core
